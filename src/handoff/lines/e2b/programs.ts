// How the two programs that no distribution has come into a machine, in a template's build and in a plain sandbox alike.

/** The one the tests run with; new enough for everything that runs inside. */
export const nodeVersion = '24.21.0'
export const nodeHost = 'nodejs.org'

/** From its maker, compared with the checksums that lie beside it. Assumes a 64-bit Intel machine, as E2B's are. */
export const installNode = `set -eu
name=node-v${nodeVersion}-linux-x64
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
curl -fsSL --retry 3 -O "https://${nodeHost}/dist/v${nodeVersion}/$name.tar.gz" -O "https://${nodeHost}/dist/v${nodeVersion}/SHASUMS256.txt"
grep " $name.tar.gz\\$" SHASUMS256.txt | sha256sum -c -
tar -xzf "$name.tar.gz" -C /usr/local --strip-components=1 --no-same-owner
node --version`

/** Takes the address and the sum from the environment: neither is ever part of a command's text. */
export const installDrive9 = `set -eu
there="$(command -v drive9 || echo /usr/local/bin/drive9)"
if ! echo "$DRIVE9_BINARY_SHA256  $there" | sha256sum -c --status - 2>/dev/null; then
  file="$(mktemp)"
  trap 'rm -f "$file"' EXIT
  curl -fsSL --retry 3 -o "$file" "$DRIVE9_BINARY_URL"
  echo "$DRIVE9_BINARY_SHA256  $file" | sha256sum -c -
  install -m 0755 "$file" /usr/local/bin/drive9
fi`
