// What a job's step may say to the runner: inputs, outputs, state, masks, the log and the job summary, all by GitHub's own `@actions/core`. The step
// after the job and the events that are none of ours load this file and little else; the build leaves out what of that package is not used here.
//
// The runner obeys lines of the log. `::word::` at the start of a line is a command, and so is `##[word]` anywhere in one. The package escapes
// what stands inside a command and makes the delimiters of files; it prints everything else as it is. So whatever is not a constant of ours is
// written inside a command, or made unable to be one here, or stands between `::stop-commands::` guards with a token that cannot be known, and is
// inset there.
import { randomUUID } from 'node:crypto'
import * as core from '@actions/core'

export type Environment = Record<string, string | undefined>

export interface Runner {
  /** Trimmed; empty when absent. */
  input(name: string): string
  /** As YAML 1.2 has it; false when absent. Throws for any other word. */
  flag(name: string): boolean
  /** What the main step saved, for the step after the job. */
  state(name: string): string
  saveState(name: string, value: string): void
  setOutput(name: string, value: string): void
  /** Never shown in a log from now on. */
  mask(text: string): void
  /** One sentence of ours, whatever names it holds. */
  info(sentence: string): void
  /** One sentence that may quote a repository, a sandbox or a service. */
  remark(sentence: string): void
  /** Text of a repository or a model, folded, as it is. */
  printUntrusted(title: string, text: string): void
  notice(sentence: string): void
  warning(sentence: string): void
  /** The one error of a failed step. */
  fail(sentence: string): void
  /** Adds to the job summary. Markdown that is safe already and fits: the package neither escapes nor counts. */
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
      // An Enterprise Server of some age has no job summaries, and the package would fail there.
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
 * The log's page colours a line that begins with `##[error]` also inside the guards, and problem matchers of earlier steps read every line. Both
 * look at how a line begins.
 */
const indent = (line: string) => `  | ${line}`

/** On one line, and no command. */
function escapeCommands(text: string): string {
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replaceAll('##[', '# #[')
    .replace(/^(\s*):(?=:)/, '$1 : ')
}
