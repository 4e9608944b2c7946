package index

import (
	"cmp"
	"strings"
	"time"
)

// Dates are ISO 8601 texts: a day (2024-01-31), or a day and a time (2024-01-31T09:30, 2024-01-31 09:30:15.25Z,
// 2024-01-31T09:30:15+02:00). A day means its first moment, and a time without a zone is in UTC. Filters compare two
// dates as moments, however they are written.

// moment is a point in time.
type moment struct {
	seconds int64 // since 1970
	nanos   int32 // -1 if the text is not a date
}

func (m moment) compare(n moment) int {
	return cmp.Or(cmp.Compare(m.seconds, n.seconds), cmp.Compare(m.nanos, n.nanos))
}

// noMoment means that a text is not a date.
var noMoment = moment{nanos: -1}

// parseDate returns the moment that a text names, or noMoment.
func parseDate[T string | []byte](s T) moment {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return noMoment
	}
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 {
		return noMoment
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Day() != day { // such as February 30
		return noMoment
	}
	m := moment{seconds: t.Unix()}
	if len(s) == 10 {
		return m
	}
	if s[10] != 'T' && s[10] != 't' && s[10] != ' ' {
		return noMoment
	}
	return m.withTime(string(s[11:]))
}

// Moment returns the point in time that a date names, and whether the value is a date. Dates without a zone are in UTC;
// digits beyond nanoseconds are dropped.
func (v Value) Moment() (time.Time, bool) {
	if v.isNumber {
		return time.Time{}, false
	}
	m := parseDate(v.text)
	return time.Unix(m.seconds, int64(m.nanos)).UTC(), m != noMoment
}

// withTime adds a time of day: hh:mm[:ss[.fraction]][zone].
func (m moment) withTime(s string) moment {
	hour, ok1 := digits(cut(&s, 2))
	colon := cut(&s, 1)
	minute, ok2 := digits(cut(&s, 2))
	if !ok1 || !ok2 || colon != ":" || hour > 23 || minute > 59 {
		return noMoment
	}
	m.seconds += int64(hour*3600 + minute*60)
	if strings.HasPrefix(s, ":") {
		second, ok := digits(cut(&s, 3)[1:])
		if !ok || second > 59 {
			return noMoment
		}
		m.seconds += int64(second)
		if strings.HasPrefix(s, ".") {
			n := 1
			for unit := int32(100_000_000); n < len(s) && isDigit(s[n]); n++ {
				m.nanos += unit * int32(s[n]-'0')
				unit /= 10
			}
			if n == 1 {
				return noMoment
			}
			s = s[n:]
		}
	}
	if s == "" || s == "Z" || s == "z" {
		return m
	}
	sign := int64(-1) // a clock that is ahead shows a moment too late
	if s[0] == '-' {
		sign = 1
	} else if s[0] != '+' {
		return noMoment
	}
	zone := strings.Replace(s[1:], ":", "", 1)
	if len(zone) == 2 {
		zone += "00"
	}
	hours, ok1 := digits(cut(&zone, 2))
	minutes, ok2 := digits(zone)
	if !ok1 || !ok2 || len(zone) != 2 || hours > 23 || minutes > 59 {
		return noMoment
	}
	m.seconds += sign * int64(hours*3600+minutes*60)
	return m
}

// cut removes and returns the first n bytes of a text, or fewer if it is shorter.
func cut(s *string, n int) string {
	n = min(n, len(*s))
	first := (*s)[:n]
	*s = (*s)[n:]
	return first
}

// digits parses a number made of digits only.
func digits[T string | []byte](s T) (n int, ok bool) {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, len(s) > 0
}

// isPartOfDate reports whether a text is a year or a month, such as 2024 or 2024-03, which sorts before its days.
func isPartOfDate(s string) bool {
	return len(s) == 4 && parseDate(s+"-01-01") != noMoment || len(s) == 7 && parseDate(s+"-01") != noMoment
}
