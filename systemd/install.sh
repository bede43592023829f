#!/bin/sh
# Installs the gateway as a systemd service, or brings an installed one up to date. Run as root, from where the
# program is to stay: a built checkout in /opt, or the package that npm install -g has put into place.
#
#   systemd/install.sh           install, enable and start; a gateway that runs is restarted
#   DESTDIR=/image systemd/install.sh    only put the files below /image
set -eu

program=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
node=$(command -v node) || { echo 'install: node is not on the PATH' >&2; exit 1; }
node=$(readlink -f -- "$node")
root=${DESTDIR:-}

fail() {
  echo "install: $1" >&2
  exit 1
}

[ -f "$program/dist/main.js" ] || fail "$program is not built: npm ci && npm run build"
if [ -z "$root" ]; then
  [ "$(id -u)" = 0 ] || fail 'must be run as root'
  [ -d /run/systemd/system ] || fail 'systemd does not run here'
fi
for path in "$program" "$node"; do
  case $path in
    # The service sees nothing there (ProtectHome).
    /home/* | /root/* | /run/user/*) fail "the service cannot read $path: move it, to /opt for example" ;;
    *[!A-Za-z0-9/._@+-]*) fail "$path has characters that systemd reads as something else: move it" ;;
  esac
done

put() {
  install -D -m "$3" "$program/$1" "$root$2"
}

put systemd/care-home-gateway.sysusers.conf /usr/lib/sysusers.d/care-home-gateway.conf 644
for unit in care-home-gateway.service care-home-gateway@.service; do
  put "systemd/$unit" "/etc/systemd/system/$unit" 644
  sed -i "s#/usr/bin/node#$node#; s#/opt/care-home-gateway/#$program/#" "$root/etc/systemd/system/$unit"
done
if [ -z "$root" ]; then
  systemd-sysusers care-home-gateway.conf
fi
configuration=/etc/care-home-gateway/gateway.yaml
# A configuration that is there stays as it is.
if [ ! -e "$root$configuration" ]; then
  put config/gateway.yaml "$configuration" 640
  if [ -z "$root" ]; then
    chgrp care-home-gateway "$configuration"
  fi
fi
[ -z "$root" ] || exit 0

"$node" "$program/dist/main.js" check-config --config "$configuration"
systemctl daemon-reload
systemctl enable care-home-gateway
systemctl restart care-home-gateway
echo "The gateway runs. The first administrator's token: /var/lib/care-home-gateway/admin.token"
