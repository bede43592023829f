#!/bin/sh
# Whether the gateway of this box serves: /usr/local/lib/care-home-gateway/gateway-serves.sh, owned by root, mode 755.
# keepalived runs it every second, as the user nobody, and gives the pair's address to the box on which it succeeds.
# A gateway that stands by says so in /readyz; one that is dead or hangs says nothing. One that serves and has a fault
# (a full disk, a bridge that is down) keeps the address, because the other one could not do better: it stands by.
answer=$(curl --silent --max-time 1 "${1:-http://127.0.0.1:8080}/readyz") || exit 1
case $answer in
  *'"standing-by"'*) exit 1 ;;
  *'"ready":'*) exit 0 ;;
  *) exit 1 ;;
esac
