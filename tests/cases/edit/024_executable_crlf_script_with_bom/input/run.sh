#!/bin/sh
echo one
exit 0