package dataset

import (
	_ "hashgrove/format/parquet"
	_ "hashgrove/format/pictures"
)
