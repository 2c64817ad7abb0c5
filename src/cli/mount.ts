// `npm run mount`: the line that mounts a run directory on a machine with the drive9 program, with a token that may only read this run.
import { createReadContext, HandoffError, parseRepository, parseRunName, resolveRun } from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { readDriveSettings } from './load-env.js'

const command = {
  name: 'mount',
  description:
    'Prints the line that mounts a run on this machine. Its token may only read this run, and ends by itself.\nNeeds the drive9 program and FUSE where the line is run.',
  positionals: { usage: 'OWNER/NAME RUN [DIRECTORY]', least: 2, most: 3 },
  options: {
    hours: { type: 'string', value: 'HOURS', default: '1', help: 'how long the token is good for, 24 at most' },
    host: { type: 'string', value: 'HOST', default: 'github.com', help: 'the git host' },
    'clone-url': {
      type: 'string',
      value: 'URL',
      help: 'where branches are looked up; https://<host>/<owner>/<name>.git when absent',
    },
  },
  example: 'mount -- owner/name main ./run',
  cost: 'nothing; no sandbox and no model.',
} as const

/** A word for a POSIX shell. */
const word = (text: string) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

async function printLine({ values: flags, positionals }: Given<typeof command.options>): Promise<void> {
  const [fullName = '', name = '', directory = './run'] = positionals
  if (!/^([1-9]|1\d|2[0-4])$/.test(flags.hours))
    throw new HandoffError('invalid-input', '--hours is not a whole number from 1 to 24.', {
      next: 'See npm run mount -- --help.',
    })
  const settings = readDriveSettings()
  const signal = AbortSignal.timeout(60_000)
  const repository = parseRepository(fullName, flags.host)
  const context = createReadContext(settings)
  const cloneUrl = flags['clone-url'] ?? `https://${flags.host}/${fullName}.git`
  const run = await resolveRun({ repository, cloneUrl, readOnly: true }, parseRunName(name), context, signal)
  const lifetimeSeconds = Number(flags.hours) * 3_600
  const token = await context.ports.drive.issueToken(
    { prefix: run.directory, operations: ['read', 'list'], lifetimeSeconds, subject: 'handoff-laptop' },
    signal,
  )
  const line = [
    'drive9 mount --profile=none --read-only --server',
    word(settings.server),
    word(`:${run.directory}`),
    word(directory),
  ]
  process.stdout.write(`mkdir -p ${word(directory)} && DRIVE9_API_KEY=${word(token.secret)} ${line.join(' ')}\n`)
  process.stderr.write(
    `\nRun ${run.handoff.run}. The token may read this run for ${flags.hours} h; the line shows it, so keep the line to yourself.
Without showing it: eval "$(npm run --silent mount -- ${word(fullName)} ${word(name)})"
A mount that failed is an empty directory: README.md must be in it. End it with: drive9 umount ${word(directory)}\n`,
  )
}

await runCommand(command, printLine)
