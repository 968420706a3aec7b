# What differs between machines and between runs.
s/"date": "[^"]*"/"date": "<date>"/
s/"host": \{[^}]*\}/"host": <host>/
s/"command": "[^"]*"/"command": "<command>"/
s/,[0-9-]+T[0-9:]+Z,[^,]*,[0-9]+,/,<date>,<host>,/
