// The interface to the runner: inputs, outputs, state, masks, log and job summary, all by `@actions/core`. The post step and events without work
// load little else than this file, so the build removes the unused parts of the package.
//
// The runner executes commands in the log: `::word::` at the start of a line, and `##[word]` anywhere. The package escapes the content of commands
// and creates file delimiters. It prints other text unchanged. So untrusted text is printed in one of three ways: inside a command, escaped here,
// or indented between `::stop-commands::` guards with an unguessable token.
import { randomUUID } from 'node:crypto'
import * as core from '@actions/core'

export type { Environment } from '../handoff/util/setting-reader.js'

export interface Runner {
  /** Trimmed; empty when absent. */
  input(name: string): string
  /** A YAML 1.2 boolean; false when absent. Throws for any other value. */
  flag(name: string): boolean
  /** What the main step saved, for the step after the job. */
  state(name: string): string
  saveState(name: string, value: string): void
  setOutput(name: string, value: string): void
  /** Hides the text in the log from now on. */
  mask(text: string): void
  /** Prints one sentence of the Action, which may contain names. */
  info(sentence: string): void
  /** Prints one sentence that may quote untrusted text. */
  remark(sentence: string): void
  /** Prints untrusted text of a repository or a model in a folded group. */
  printUntrusted(title: string, text: string): void
  notice(sentence: string): void
  warning(sentence: string): void
  /** The one error of a failed step. */
  fail(sentence: string): void
  /** Adds Markdown to the job summary. It must be escaped and short enough: the package checks neither. */
  writeJobSummary(markdown: string): Promise<void>
}

export function makeRunner(): Runner {
  return {
    input: (name) => core.getInput(name),
    flag: (name) => core.getInput(name) !== '' && core.getBooleanInput(name),
    state: (name) => core.getState(name),
    saveState: (name, value) => core.saveState(name, value),
    setOutput: (name, value) => core.setOutput(name, value),
    mask: (text) => core.setSecret(text),
    info: (sentence) => core.info(escapeCommands(sentence)),
    remark: (sentence) => core.info(indent(escapeCommands(sentence))),
    printUntrusted: printFolded,
    notice: (sentence) => core.notice(sentence),
    warning: (sentence) => core.warning(sentence),
    fail: (sentence) => core.setFailed(sentence),
    async writeJobSummary(markdown) {
      // An old Enterprise Server has no job summaries, and the package would throw.
      if (process.env['GITHUB_STEP_SUMMARY']) await core.summary.addRaw(markdown, true).write()
    },
  }
}

function printFolded(title: string, text: string): void {
  const token = randomUUID()
  core.startGroup(escapeCommands(title))
  core.info(`::stop-commands::${token}`)
  core.info(
    text
      .split(/[\n\r\u2028\u2029\u0085\v\f]/)
      .map(indent)
      .join('\n'),
  )
  core.info(`\n::${token}::`)
  core.endGroup()
}

/**
 * The log page colours `##[error]` at the start of a line even between the guards, and problem matchers of earlier steps read each line. Both match
 * at the start of a line.
 */
const indent = (line: string) => `  | ${line}`

/** Puts a text on one line and escapes commands in it. */
function escapeCommands(text: string): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll('##[', '# #[')
    .replace(/^(\s*):(?=:)/, '$1 : ')
}
