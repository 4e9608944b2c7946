package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hashgrove/internal/message"
)

// helpWidth is the width of the help in columns.
const helpWidth = 110

// PrintUsage prints the usage line, examples and grouped flags of a verb.
func PrintUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		printVerbs(w, cmd)
	}
	titles, groups := flagGroups(cmd)
	for _, title := range titles {
		fmt.Fprintf(w, "\n%s:\n%s", title, groups[title].FlagUsagesWrapped(helpWidth))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%q explains a verb.\n", strings.TrimSpace("hashgrove help "+Verb(cmd))+" VERB")
	}
	return nil
}

// flagGroups sorts the visible flags of a command into help groups.
func flagGroups(cmd *cobra.Command) (titles []string, groups map[string]*pflag.FlagSet) {
	groups = map[string]*pflag.FlagSet{}
	add := func(f *pflag.Flag) {
		title := cmp.Or(GroupOf(f), "Global")
		if groups[title] == nil {
			titles = append(titles, title)
			groups[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			groups[title].SortFlags = false
		}
		groups[title].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return slices.DeleteFunc(titles, func(title string) bool { return !groups[title].HasAvailableFlags() }), groups
}

// printVerbs lists the verbs of a command by group.
func printVerbs(w io.Writer, cmd *cobra.Command) {
	for _, g := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s  %s\n", cmd.NamePadding(), c.Name(), c.Short)
			}
		}
	}
}

// UnknownVerb refuses the arguments of a command that has only verbs, and suggests one.
func UnknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	where, advice := "there is no verb", fmt.Sprintf("; %q lists the verbs",
		strings.TrimSpace("hashgrove help "+Verb(cmd)))
	if cmd.HasParent() {
		where = Verb(cmd) + " has no verb"
	}
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		advice = fmt.Sprintf(": did you mean %s?", similar[0])
	}
	return Usage("no-such-verb", "%s %q%s", where, args[0], advice)
}

// AddVerbs adds verbs to a command, in a group of its help. What is wrong with their arguments is a mistake in the
// command line.
func AddVerbs(root *cobra.Command, title string, verbs ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, v := range verbs {
		v.GroupID = title
		if check := v.Args; check != nil {
			v.Args = func(cmd *cobra.Command, args []string) error {
				err := check(cmd, args)
				if err == nil || message.Is(err, "no-such-verb") {
					return err
				}
				return Usage("wrong-arguments", "%s: %w; see \"hashgrove help %s\"", cmd.UseLine(), err, Verb(cmd))
			}
		}
		root.AddCommand(v)
	}
}

// Verb returns the words of a command after "hashgrove".
func Verb(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "hashgrove"))
}
