package api

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Values returns the options as URL parameters named by their JSON keys. Lists are separated by commas.
func (o Options) Values() url.Values {
	values := url.Values{}
	for name, field := range o.fields() {
		if field.IsZero() {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		switch v := field.Interface().(type) {
		case string:
			values.Set(name, v)
		case int:
			values.Set(name, strconv.Itoa(v))
		case bool:
			values.Set(name, strconv.FormatBool(v))
		case []string:
			values.Set(name, strings.Join(v, ","))
		}
	}
	return values
}

// ParseOptions reads options from URL parameters; more names other parameters that may be present.
func ParseOptions(values url.Values, more ...string) (Options, error) {
	var o Options
	fields := o.fields()
	for name := range values {
		text, field := values.Get(name), fields[name]
		switch {
		case slices.Contains(more, name):
		case !field.IsValid():
			return o, invalid(name, "there is no parameter %.40q here", name)
		case !set(field, text):
			return o, invalid(name, "%s=%.40s: give %s", name, text, kindOf(field))
		}
	}
	return o, nil
}

// fields returns the fields of the options by JSON key.
func (o *Options) fields() map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = v.Field(i)
	}
	return fields
}

// set parses text into a field and reports whether it could.
func set(field reflect.Value, text string) bool {
	switch field.Interface().(type) {
	case string:
		field.SetString(text)
	case []string:
		list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		field.Set(reflect.ValueOf(append([]string{}, list...)))
	case bool:
		b, err := strconv.ParseBool(text)
		field.SetBool(b)
		return err == nil
	default: // int or *int
		n, err := strconv.Atoi(text)
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.ValueOf(&n))
		} else {
			field.SetInt(int64(n))
		}
		return err == nil
	}
	return true
}

// kindOf describes the values a field takes.
func kindOf(field reflect.Value) string {
	if field.Kind() == reflect.Bool {
		return "true or false"
	}
	return "a whole number"
}
