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

// zones are the layouts of time zones by their length.
var zones = [...]string{1: "Z07", 3: "Z07", 5: "Z0700", 6: "Z07:00"}

// parseDate returns the moment that a text names, or noMoment.
func parseDate[T string | []byte](s T) moment {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return noMoment
	}
	text, layout := string(s), time.DateOnly
	if len(text) > 10 {
		// Package time would also take hours of one digit, a comma, and zones that are a day off.
		if len(text) < 16 || strings.IndexByte("Tt ", text[10]) < 0 || text[13] != ':' || strings.Contains(text, ",") {
			return noMoment
		}
		text, layout = text[:10]+"T"+strings.ReplaceAll(text[11:], "z", "Z"), "2006-01-02T15:04"
		if text[16:] != "" && text[16] == ':' {
			layout += ":05"
		}
		if i := strings.IndexAny(text[16:], "Z+-"); i >= 0 {
			zone := text[16+i:]
			if len(zone) >= len(zones) || len(zone) > 1 && (zone[1:min(3, len(zone))] > "23" || zone[len(zone)-2:] > "59") {
				return noMoment
			}
			layout += zones[len(zone)]
		}
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return noMoment
	}
	return moment{t.Unix(), int32(t.Nanosecond())}
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

// isPartOfDate reports whether a text is a year or a month, such as 2024 or 2024-03, which sorts before its days.
func isPartOfDate(s string) bool {
	return len(s) == 4 && parseDate(s+"-01-01") != noMoment || len(s) == 7 && parseDate(s+"-01") != noMoment
}
