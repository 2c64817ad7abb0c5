// `npm run token -- team-a 'owner/*'`: makes a token for the service and the setting that lets it in. The token is shown once and kept nowhere.
import { createHash, randomBytes } from 'node:crypto'
import { HandoffError } from '../handoff/domain/errors.js'
import { type Given, runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'

const command = {
  name: 'token',
  description:
    'Makes a token for a caller of the service and prints the HANDOFF_BEARERS that lets it in, with the callers that are there already.',
  positionals: { usage: "NAME 'owner/name' | 'owner/*' | '*' … ['+comment']", least: 2, most: 50 },
  options: {},
  example: "token -- team-a 'acme/*'",
  cost: 'nothing; no request is made.',
} as const

const nameForm = /^[A-Za-z0-9_.-]{1,60}$/
const repositoryForm = /^(\*|\+comment$|[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*\/(\*|[A-Za-z0-9_.-]+))(#\d{1,20})?$/

const refuse = (message: string, next: string) => new HandoffError('invalid-input', message, { next })

async function makeToken({ positionals: [name = '', ...repositories] }: Given<typeof command.options>): Promise<void> {
  if (!nameForm.test(name)) {
    throw refuse(`“${name}” cannot name a caller.`, 'Use letters, digits, dots, dashes and underscores, 60 at most.')
  }
  const odd = repositories.find((one) => !repositoryForm.test(one))
  if (odd === undefined && repositories.every((one) => one === '+comment'))
    throw refuse('The token would open no repository.', "Add 'owner/name', 'owner/*' or '*'.")
  if (odd !== undefined) {
    const shell = odd.includes('/') ? '' : ' In a shell, write patterns in quotes.'
    throw refuse(`“${odd}” is neither owner/name nor owner/*.`, `Write 'owner/name', 'owner/*' or '*'.${shell}`)
  }
  const present = (readEnvironment()['HANDOFF_BEARERS'] ?? '').split(/[;\n]/).map((entry) => entry.trim())
  const others = present.filter((entry) => entry !== '')
  if (others.some((entry) => entry.split('=')[0]?.trim() === name)) {
    throw refuse(`HANDOFF_BEARERS has a caller named ${name} already.`, 'Choose another name, or take that entry out.')
  }
  const token = `handoff_${randomBytes(32).toString('base64url')}`
  const sha256 = createHash('sha256').update(token).digest('hex')
  process.stdout.write(`${token}\n`)
  process.stderr.write(
    `
This is the token of ${name}. It is shown this once; the service keeps only its sha256.
Set this where the service runs:

HANDOFF_BEARERS=${[...others, `${name}=${sha256}=${repositories.join(',')}`].join(';')}

Then ask with it: HANDOFF_TOKEN=<token> npm run doctor -- https://<deployment>
`,
  )
}

await runCommand(command, makeToken)
