// Simulates one tool in a sandbox of template `base`: `base-template-tool.mjs <name> <arguments>`. System paths become paths in the directory
// of the sandbox. A tool refuses arguments that it does not know, so that a new use is noticed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** As published in SHASUMS256.txt of each release. */
const nodeArchives = {
  'https://nodejs.org/dist/v24.21.0/node-v24.21.0-linux-x64.tar.gz':
    '6e1db87ef58b8819e5d5402eff1536491b18edd8eb7bee5ef7897876e88dc5ff',
}
const standsFor = 'the archive at '

const [name, ...words] = process.argv.slice(2)
const sandbox = dirname(process.env.TMPDIR ?? '')
const inside = (path) => (/^\/(usr\/local|etc)(\/|$)/.test(path) ? `${sandbox}${path}` : path)

function fail(code, text) {
  process.stderr.write(`${name}: ${text}\n`)
  process.exit(code)
}

function real(args, options = {}) {
  const { status } = spawnSync(`/usr/bin/${name}`, args, { stdio: 'inherit', ...options })
  process.exit(status ?? 1)
}

const isArchive = (path) => readFileSync(path).subarray(0, standsFor.length).toString() === standsFor

function hashOf(path) {
  if (isArchive(path)) return nodeArchives[readFileSync(path, 'utf8').slice(standsFor.length)]
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

async function download(url) {
  if (url in nodeArchives) return Buffer.from(standsFor + url)
  const { hostname } = new URL(url)
  if (hostname !== '127.0.0.1' && hostname !== 'localhost') fail(6, `Could not resolve host: ${hostname}`)
  const answer = await fetch(url).catch(() => fail(7, `Failed to connect to ${url}`))
  if (!answer.ok) fail(22, `The requested URL returned error: ${answer.status}`)
  return Buffer.from(await answer.arrayBuffer())
}

const tools = {
  'apt-get'() {
    const [verb, ...rest] = words.filter((word) => !word.startsWith('-'))
    const known = new Set(['ca-certificates', 'curl', 'fuse3', 'git', 'tar'])
    const unknown = rest.find((one) => !known.has(one))
    if (verb === 'install' && unknown !== undefined) fail(100, `Unable to locate package ${unknown}`)
    if (verb !== 'update' && verb !== 'install') fail(100, `Invalid operation ${verb}`)
  },
  chmod() {
    if (words.at(-1) !== '/dev/fuse') real(words)
  },
  async curl() {
    const to = words[words.indexOf('-o') + 1]
    if (!words.includes('-o') || to === undefined) fail(2, 'this machine only downloads with -o')
    writeFileSync(to, await download(words.at(-1) ?? ''))
  },
  install() {
    const [mode, from, to] = words.filter((word) => word !== '-m')
    if (words[0] !== '-m' || to === undefined) fail(1, 'this machine only knows install -m MODE FILE PLACE')
    mkdirSync(dirname(inside(to)), { recursive: true })
    copyFileSync(from, inside(to))
    chmodSync(inside(to), Number.parseInt(mode, 8))
  },
  sha256sum() {
    if (!words.includes('-c')) real(words)
    for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
      const [wanted, path] = line.split(/\s+/)
      let found
      try {
        found = hashOf(inside(path))
      } catch {
        fail(1, `${path}: No such file or directory`)
      }
      if (found !== wanted) fail(1, `${path}: FAILED`)
    }
  },
  tar() {
    const archive = words.find((word) => !word.startsWith('-'))
    if (words[0] !== '-xzf' || archive === undefined || !isArchive(archive)) real(words)
    const bin = `${sandbox}/usr/local/bin`
    mkdirSync(bin, { recursive: true })
    symlinkSync(process.execPath, `${bin}/node`)
  },
  tee() {
    const [flag, path] = words
    if (flag !== '-a' || path === undefined) real(words)
    mkdirSync(dirname(inside(path)), { recursive: true })
    appendFileSync(inside(path), readFileSync(0))
  },
}

await tools[name]?.()
