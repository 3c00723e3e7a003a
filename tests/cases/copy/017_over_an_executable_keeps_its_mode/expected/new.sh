#!/bin/sh
new
