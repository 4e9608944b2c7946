package supervision

import (
	"fmt"

	"hashgrove/internal/message"
	"hashgrove/internal/vectors"
)

// Crowding names the columns that lose their values because nearly all fall into one bin, or returns "". It needs rows
// that Scan has read.
func (d *Data) Crowding(how vectors.Binning) string {
	if d.Ranges == nil {
		return ""
	}
	q, err := d.Ranges.QuantizerBy(how)
	if err != nil {
		return ""
	}
	list := d.Ranges.Crowded(q)
	if len(list) == 0 {
		return ""
	}
	name := fmt.Sprintf("column %d", list[0]+1)
	if names := d.Schema().Names; len(names) == d.Dim() {
		name = names[list[0]]
	}
	return fmt.Sprintf("%s extreme values that leave nearly all others in one of 256 steps, for instance %s, "+
		"from %v to %v: trees cannot tell those others apart; remove or clip such values, or take logarithms",
		message.Count(len(list), "column has", "columns have"), name, d.Ranges.Min[list[0]], d.Ranges.Max[list[0]])
}
