package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManualPages renders the help of a command and all its verbs as man(7) pages, by file name. The date may be empty.
// cobra/doc would add 590 kB to the program (a Markdown parser), misread stars and angle brackets in the help as
// Markdown, and lose the flag groups.
func ManualPages(cmd *cobra.Command, version, date string) map[string]string {
	pages := map[string]string{pageName(cmd) + ".1": manualPage(cmd, version, date)}
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			for name, page := range ManualPages(verb, version, date) {
				pages[name] = page
			}
		}
	}
	return pages
}

// pageName returns the name under which man finds the page: the words of the command joined by dashes.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func manualPage(cmd *cobra.Command, version, date string) string {
	var b strings.Builder
	name := pageName(cmd)
	title := roff(strings.ToUpper(name))
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"%s\" \"%s\" \"Hashgrove\"\n", title, roff(date), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	// The words of the command are bold, placeholders are not.
	rest := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR%s\n.SH DESCRIPTION\n", roff(cmd.CommandPath()), roff(rest))
	if cmd.Long != "" {
		roffText(&b, cmd.Long)
	} else {
		roffText(&b, cmd.Short+".")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH VERBS\n")
		for _, verb := range cmd.Commands() {
			if verb.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n\\fB%s\\fR(1)\n%s\n", roff(pageName(verb)), roff(verb.Short))
			}
		}
	}
	titles, groups := flagGroups(cmd)
	if len(titles) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for _, title := range titles {
		fmt.Fprintf(&b, ".SS %s\n", roff(title))
		groups[title].VisitAll(func(f *pflag.Flag) { roffFlag(&b, f) })
	}
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		roffText(&b, cmd.Example)
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n\\fB%s\\fR(1)\n", roff(pageName(cmd.Parent())))
	}
	return b.String()
}

// roffFlag writes a flag as the help does: names and value, three spaces, usage.
func roffFlag(b *strings.Builder, f *pflag.Flag) {
	one := pflag.NewFlagSet("", pflag.ContinueOnError)
	one.AddFlag(f)
	names, meaning, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
	if names == "" {
		return // hidden
	}
	words := strings.Fields(names)
	for i, w := range words {
		bare := strings.TrimSuffix(w, ",")
		font := "I"
		if strings.HasPrefix(w, "-") {
			font = "B"
		}
		words[i] = "\\f" + font + roff(bare) + "\\fR" + w[len(bare):]
	}
	fmt.Fprintf(b, ".TP\n%s\n%s\n", strings.Join(words, " "), roff(strings.TrimSpace(meaning)))
}

// roffText writes paragraphs and keeps lines that start with a space as they are.
func roffText(b *strings.Builder, text string) {
	as := ".PP\n" // the prefix of the next line
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimRight(line, " \n")
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case line == "" && as == ".EE\n":
			b.WriteString("\n")
			continue
		case line == "":
			as = ".PP\n"
			continue
		case indented && as != ".EE\n":
			b.WriteString(".PP\n.EX\n")
			as = ".EE\n"
		case !indented:
			if as == ".EE\n" {
				as += ".PP\n"
			}
			b.WriteString(as)
			as = ""
		}
		b.WriteString(roff(line) + "\n")
	}
	if as == ".EE\n" {
		b.WriteString(as)
	}
}

// roff escapes backslashes, and dots and quotes at the start of a line.
func roff(text string) string {
	text = strings.NewReplacer("\n", " ", "\\", "\\e", "-", "\\-", "\"", "\\(dq").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = "\\&" + text
	}
	return text
}
