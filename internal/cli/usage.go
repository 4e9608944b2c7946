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

// HelpVerb returns the verb "help", in a group of the root command.
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

// UnknownVerb returns an error for a verb that does not exist, with a suggestion.
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

// AddVerbs adds verbs to a group of the help.
func AddVerbs(root *cobra.Command, group string, verbs ...*cobra.Command) {
	for _, v := range verbs {
		v.GroupID = group
		root.AddCommand(v)
	}
}

// Verb returns the words of a command after "hashgrove".
func Verb(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "hashgrove"))
}

// AtLeast checks that a verb has at least n arguments.
func AtLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return Usage("wrong-arguments", "%s needs %s; see \"hashgrove help %s\"", Verb(cmd), what, Verb(cmd))
		}
		return nil
	}
}

// ExactlyOne checks that a verb has one argument.
func ExactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage("wrong-arguments", "%s needs %s and nothing else; see \"hashgrove help %s\"",
				Verb(cmd), what, Verb(cmd))
		}
		return nil
	}
}

// NoArguments checks that a verb has no arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("wrong-arguments", "%s takes no argument, but has %q; see \"hashgrove help %s\"",
			Verb(cmd), args[0], Verb(cmd))
	}
	return nil
}
