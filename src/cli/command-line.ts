// What all commands share: options read by `parseArgs`, the help, how an error is printed, and how Ctrl-C stops the work.
import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util'
import { HandoffError, isHandoffError } from '../handoff/domain/errors.js'
import { harmless } from './terminal.js'

interface Option extends ParseArgsOptionDescriptor {
  /** The option's value in the help, such as `DIR`. */
  value?: string
  help: string
}

type Options = Record<string, Option>

interface Command<O extends Options> {
  /** The npm script's name. */
  name: string
  description: string
  /** Positional arguments: their text in the usage line, and how many there may be. */
  positionals?: { usage: string; least: number; most: number }
  options: O
  /** The words after `npm run`. */
  example: string
  cost: string
}

type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O; strict: true }>>['values']

export interface Given<O extends Options> {
  values: Values<O>
  positionals: string[]
  /** Aborts at the first Ctrl-C, so that the command can clean up; a later one ends the process at once. */
  untilInterrupted(): AbortSignal
}

/** Reads the arguments of this process, prints the help or runs the command, and sets the exit code: the number that `run` gives, or 0. */
export async function runCommand<const O extends Options>(
  command: Command<O>,
  run: (given: Given<O>) => Promise<unknown>,
): Promise<void> {
  const stop = new AbortController()
  try {
    const words = process.argv.slice(2)
    if (asksForHelp(words)) process.stdout.write(helpOf(command))
    else {
      const untilInterrupted = () => stopOnInterrupt(stop, command.name)
      const result = await run({ ...readWords(command, words), untilInterrupted })
      process.exitCode = typeof result === 'number' ? result : 0
    }
  } catch (thrown) {
    const error = stop.signal.aborted && !isHandoffError(thrown) ? (stop.signal.reason as HandoffError) : thrown
    if (!isHandoffError(error)) throw error
    process.stderr.write(`${harmless([error.message, error.next].filter(Boolean).join('\n'))}\n`)
    process.exitCode = stop.signal.aborted ? 130 : 1
  }
}

/** `--help` wins over every other argument, also over a wrong one; after `--` it is text. */
function asksForHelp(words: string[]): boolean {
  const end = words.indexOf('--')
  return (end === -1 ? words : words.slice(0, end)).includes('--help')
}

function readWords<O extends Options>(command: Command<O>, words: string[]) {
  const { least, most } = command.positionals ?? { least: 0, most: 0 }
  const refuse = (message: string, cause?: unknown) =>
    new HandoffError('invalid-input', message, { next: usageOf(command), cause })
  const read = () => {
    try {
      return parseArgs({ args: words, options: command.options, allowPositionals: most > 0, strict: true })
    } catch (error) {
      throw refuse((error as Error).message, error)
    }
  }
  const { values, positionals } = read()
  if (positionals.length < least) throw refuse(`npm run ${command.name} needs ${command.positionals?.usage}.`)
  if (positionals.length > most) throw refuse(`Unexpected argument '${positionals[most]}'.`)
  return { values: values as Values<O>, positionals }
}

const usageOf = <O extends Options>({ name, positionals }: Command<O>) =>
  ['Usage: npm run', name, '-- [options]', positionals?.usage].filter(Boolean).join(' ')

function helpOf<O extends Options>(command: Command<O>): string {
  const options: Options = { ...command.options, help: { type: 'boolean', help: 'print this and do nothing else' } }
  const rows = Object.entries(options).map(([name, { value, help, default: usual }]) => ({
    flag: `--${name}${value === undefined ? '' : ` ${value}`}`,
    help: typeof usual === 'string' ? `${help}; ${usual} when absent` : help,
  }))
  const width = Math.max(...rows.map(({ flag }) => flag.length))
  return [
    usageOf(command),
    '',
    command.description,
    '',
    'Options:',
    ...rows.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`),
    '',
    `Example: npm run ${command.example}`,
    `Cost: ${command.cost}`,
    '',
  ].join('\n')
}

/** npm passes Ctrl-C on to its child, which may have had it from the terminal already: two within this time are one. */
const sameInterruptMs = 700

function stopOnInterrupt(stop: AbortController, name: string): AbortSignal {
  let first = 0
  const interrupted = () => {
    if (stop.signal.aborted && performance.now() - first < sameInterruptMs) return
    if (stop.signal.aborted) process.exit(130)
    first = performance.now()
    process.stderr.write('Stopping, and cleaning up first. Press Ctrl-C again to leave at once.\n')
    stop.abort(new HandoffError('cancelled', `npm run ${name} was interrupted.`))
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupted)
  return stop.signal
}
