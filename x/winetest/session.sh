#!/bin/sh
# Works with the program that the first argument names in a new folder, the second: learns, encodes, builds an index and
# changes it in every way that moves files. Its data have the line ends of Windows.
set -e
program=$1
mkdir "$2"
cd "$2"
awk 'BEGIN { print "id,label,a,b,c\r"; for (i = 0; i < 400; i++)
	printf "n%d,kind %d,%d,%d,%d\r\n", i, i % 3, i % 3 * 9 + i * 7 % 31, i * 11 % 37, i * 13 % 41 }' >all.csv
sed -n '1,301p' all.csv >some.csv
sed -n '1p;302,$p' all.csv >more.csv
$program train some.csv --bits 16 --effort quick -o some.hgm
$program encode more.csv -m some.hgm -o more.hgc
$program encode more.csv -m some.hgm --to hex -o NUL
$program index build some.csv -m some.hgm -o items.hgi
$program index add items.hgi more.csv
$program index delete items.hgi --id n7
$program index compact items.hgi
$program index backup items.hgi -o copy.hgi
$program index build some.csv -m some.hgm -o items.hgi --force
$program index add items.hgi more.csv
$program index migrate items.hgi -m some.hgm --vectors all.csv
$program verify some.hgm more.hgc items.hgi copy.hgi
$program search items.hgi more.csv -k 5 --to csv >answers.csv
