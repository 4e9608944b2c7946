package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that the help takes.
const helpWidth = 110

// PrintUsage prints how a verb is called: its line, examples, and flags in groups.
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

// flagGroups sorts the flags of a command into the groups of the help, without those that have nothing to show.
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

// printVerbs lists the verbs of a command in their groups.
func printVerbs(w io.Writer, cmd *cobra.Command) {
	list := func(title, group string) {
		for _, c := range cmd.Commands() {
			if c.GroupID != group || !c.IsAvailableCommand() {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s:\n", title)
				title = ""
			}
			fmt.Fprintf(w, "  %-*s  %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	list("Verbs", "")
}

// HelpVerb is the verb "help", in a group of the root command.
func HelpVerb(group string) *cobra.Command {
	return &cobra.Command{
		Use:     "help [VERB]",
		Short:   "Explain a verb",
		GroupID: group,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return UnknownVerb(target, rest[0])
			}
			return target.Help()
		},
	}
}

// UnknownVerb is the error about a verb that does not exist, with the one that was meant.
func UnknownVerb(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	where, asked := "there is no verb", strings.TrimSpace("hashgrove help "+Verb(cmd))
	if cmd.HasParent() {
		where = Verb(cmd) + " has no verb"
	}
	if advice := suggestion(word, "", names); advice != "" {
		return Usage("no-such-verb", "%s %q%s", where, word, advice)
	}
	return Usage("no-such-verb", "%s %q; %q lists the verbs", where, word, asked)
}

// AddVerbs adds verbs in a group of the help.
func AddVerbs(root *cobra.Command, group string, verbs ...*cobra.Command) {
	for _, v := range verbs {
		v.GroupID = group
		root.AddCommand(v)
	}
}

// Verb is what the user calls a command: its words after "hashgrove".
func Verb(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "hashgrove"))
}

// AtLeast is the check of a verb that takes n arguments or more.
func AtLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return Usage("wrong-arguments", "%s needs %s; see \"hashgrove help %s\"", Verb(cmd), what, Verb(cmd))
		}
		return nil
	}
}

// ExactlyOne is the check of a verb that takes one argument.
func ExactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage("wrong-arguments", "%s needs %s and nothing else; see \"hashgrove help %s\"",
				Verb(cmd), what, Verb(cmd))
		}
		return nil
	}
}

// NoArguments is the check of a verb that takes no arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("wrong-arguments", "%s takes no argument, but has %q; see \"hashgrove help %s\"",
			Verb(cmd), args[0], Verb(cmd))
	}
	return nil
}
