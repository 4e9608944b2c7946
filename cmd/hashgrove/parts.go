package main

import (
	_ "hashgrove/format/parquet" // the command reads every format
	_ "hashgrove/format/pictures"
	_ "hashgrove/format/postgres"
	_ "hashgrove/server/worker"   // and serves programs in Python
	_ "hashgrove/server/workshop" // and visitors who train
)
