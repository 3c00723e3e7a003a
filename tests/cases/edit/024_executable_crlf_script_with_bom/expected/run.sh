#!/bin/sh
echo 1
echo 2
exit 0