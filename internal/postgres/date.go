package postgres

import (
	"fmt"
	"strings"
	"time"
)

// Dates in our filters are ISO 8601 texts, and two of them compare as moments; a date and any other text compare
// bytewise. PostgreSQL has to recognise exactly the dates that our index does (index/date.go), and must not fail on
// other texts, as its casts do. So a pattern decides, and the digits of a matching text give seconds since 1970.
//
//	day    four digits, two, two; the day must exist in its month. Years start at 0000, which PostgreSQL lacks, so all
//	       are shifted by 400 years, after which the calendar repeats
//	time   hh:mm, hh:mm:ss or hh:mm:ss.fraction, of which nine digits count
//	zone   none, Z, or +hh, +hhmm or +hh:mm
const (
	hour  = `([01][0-9]|2[0-3])`
	sixty = `[0-5][0-9]` // minutes or seconds
	zone  = `([Zz]|[+-]` + hour + `(:?` + sixty + `)?)?`
	leap  = `([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)`
	day   = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|` +
		`02-(0[1-9]|1[0-9]|2[0-8]))|` + leap + `-02-29)`

	datePattern = `^` + day + `([Tt ]` + hour + `:` + sixty + `(:` + sixty + `([.][0-9]+)?)?` + zone + `)?$`
)

// secondsOf is the moment of a date TEXT, exact to the nanosecond. Everything up to the minutes is at a fixed
// position.
const secondsOf = `(make_date(left(TEXT, 4)::int + 400, substr(TEXT, 6, 2)::int, substr(TEXT, 9, 2)::int)
    - date '2370-01-01')::numeric * 86400
  + CASE WHEN length(TEXT) = 10 THEN 0 ELSE substr(TEXT, 12, 2)::int * 3600 + substr(TEXT, 15, 2)::int * 60 END
  + CASE WHEN substr(TEXT, 17, 1) <> ':' OR length(TEXT) < 17 THEN 0 ELSE substr(TEXT, 18, 2)::int END
  + CASE WHEN substr(TEXT, 20, 1) <> '.' OR length(TEXT) < 20 THEN 0
    ELSE ('0' || substring(TEXT, '[.][0-9]{1,9}'))::numeric END
  - CASE WHEN substr(TEXT, 17) !~ '[+-]' THEN 0 ELSE (substring(substr(TEXT, 17), '[+-]') || '1')::int *
    (rpad(replace(substring(substr(TEXT, 17), '[+-](.*)'), ':', ''), 4, '0')::int / 100 * 60 +
     rpad(replace(substring(substr(TEXT, 17), '[+-](.*)'), ':', ''), 4, '0')::int % 100) * 60 END`

// compareDate compares a text with a date, given as a parameter.
func compareDate(expression, op string, at time.Time, text string) string {
	return fmt.Sprintf(`CASE WHEN %s COLLATE "C" ~ '%s' THEN %s %s (%d + 0.%09d) ELSE %s COLLATE "C" %s %s END`,
		expression, datePattern, strings.ReplaceAll(secondsOf, "TEXT", expression), op, at.Unix(), at.Nanosecond(),
		expression, op, text)
}
