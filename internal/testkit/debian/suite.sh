# To be read by scripts that fetch packages of another suite of Debian for the tests, without installing anything:
#
#	. suite.sh
#	use_suite trixie deb-src FOLDER   makes the function apt, which is apt-get for that suite; its lists lie in FOLDER
#
# Where packages come from is what the machine says, for another suite. Root is not needed.
use_suite() {
	suite_lists=$3
	mkdir -p "$suite_lists/lists/partial" "$suite_lists/cache/archives/partial" "$suite_lists/parts"
	suite_here=$(. /etc/os-release && echo "$VERSION_CODENAME")
	if [ -e /etc/apt/sources.list.d/debian.sources ]; then
		awk -v RS= -v ORS='\n\n' -v here="$suite_here" '$0 ~ "\nSuites:[^\n]* ?" here "( |\n|$)" { print; exit }' \
			/etc/apt/sources.list.d/debian.sources | sed "s/^Suites:.*/Suites: $1/; s/^Types:.*/Types: $2/" \
			>"$suite_lists/parts/debian.sources"
	else
		grep -E "^deb .* $suite_here main" /etc/apt/sources.list | head -n 1 |
			sed "s/^deb /$2 /; s/ $suite_here main.*/ $1 main/" >"$suite_lists/parts/debian.list"
	fi
}

apt() {
	apt-get -q -o APT::Sandbox::User="$(id -un)" -o Dir::Etc::SourceList=/dev/null \
		-o Dir::Etc::SourceParts="$suite_lists/parts" -o Dir::State::Lists="$suite_lists/lists" \
		-o Dir::Cache="$suite_lists/cache" -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}
