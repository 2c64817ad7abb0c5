// What a job's step may say to the runner: inputs, outputs, state, masks, the log and the job summary. Small on purpose: the step after the job
// and the events that are none of ours load this file and little else.
//
// The runner obeys lines of the log. `::word::` at the start of a line is a command, and so is `##[word]` anywhere in one. Whatever is not a
// constant of ours is therefore either written inside a command (where line ends are escaped), or made unable to be one, or stands between
// `::stop-commands::` guards with a token that nobody can know.
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'

export type Environment = Record<string, string | undefined>

export interface Runner {
  /** Trimmed; empty when absent. */
  input(name: string): string
  /** What the main step saved, for the step after the job. */
  state(name: string): string
  saveState(name: string, value: string): void
  setOutput(name: string, value: string): void
  /** Never shown in a log from now on. */
  mask(text: string): void
  /** One sentence of ours, whatever names it holds. */
  info(sentence: string): void
  /** Somebody else's text, folded, as it is. */
  quote(title: string, text: string): void
  notice(sentence: string): void
  warning(sentence: string): void
  /** The one error of a failed step. */
  fail(sentence: string): void
  /** Adds to the job summary. Markdown that is safe already. */
  summarise(markdown: string): void
}

export interface RunnerOutside {
  environment: Environment
  write: (text: string) => void
  /** Told that the step has failed. */
  setExitCode: (code: number) => void
}

export function makeRunner({ environment, write, setExitCode }: RunnerOutside): Runner {
  const command = (name: string, data: string) => write(`::${name}::${escapeData(data)}\n`)
  const toFile = (file: string, text: string) => {
    const path = environment[file]
    if (path) appendFileSync(path, text)
  }
  return {
    input: (name) => (environment[`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`] ?? '').trim(),
    state: (name) => environment[`STATE_${name}`] ?? '',
    saveState: (name, value) => toFile('GITHUB_STATE', fileEntry(name, value)),
    setOutput: (name, value) => toFile('GITHUB_OUTPUT', fileEntry(name, value)),
    mask: (text) => command('add-mask', text),
    info: (sentence) => write(`${tame(sentence)}\n`),
    quote(title, text) {
      const token = randomUUID()
      write(`::group::${escapeData(tame(title))}\n::stop-commands::${token}\n`)
      write(`${text.replace(/[\r\u2028\u2029\u0085\v\f]/g, '\n')}\n`)
      write(`\n::${token}::\n::endgroup::\n`)
    },
    notice: (sentence) => command('notice', sentence),
    warning: (sentence) => command('warning', sentence),
    fail(sentence) {
      command('error', sentence)
      setExitCode(1)
    },
    summarise: (markdown) => toFile('GITHUB_STEP_SUMMARY', `${markdown}\n`),
  }
}

/** A delimiter that no value can hold, because it is made after the value. */
function fileEntry(name: string, value: string): string {
  let delimiter = `ghadelimiter_${randomUUID()}`
  while (value.includes(delimiter)) delimiter = `ghadelimiter_${randomUUID()}`
  return `${name}<<${delimiter}\n${value}\n${delimiter}\n`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** On one line, and no command. */
function tame(text: string): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll('##[', '# #[')
    .replace(/^(\s*):(?=:)/, '$1 : ')
}
