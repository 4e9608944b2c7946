package main

import (
	_ "hashgrove/format/parquet" // the command reads every format
	_ "hashgrove/format/pictures"
	_ "hashgrove/format/postgres"
)
