// Turns events of a workflow into lines of the log, and saves what post must end: the open sandbox and the token of its directory.
import type { RunEvent } from '../handoff/index.js'
import type { Runner } from './runner.js'
import type { StateWriter } from './saved-state.js'

export function makeListener(runner: Runner, saver: StateWriter): (event: RunEvent) => void {
  return (event) => {
    saveState(event, saver)
    if (event.type === 'notice') return runner.remark(event.text)
    const line = formatEvent(event)
    if (line !== undefined) runner.info(line)
  }
}

function saveState(event: RunEvent, saver: StateWriter): void {
  if (event.type === 'sandbox-open') saver.sandbox(event.id)
  if (event.type === 'sandbox-gone') saver.sandbox('')
  if (event.type === 'token-issued') saver.token(event.id)
}

const count = (value: number) => value.toLocaleString('en-US')
const seconds = (milliseconds: number) => `${(milliseconds / 1_000).toFixed(1)} s`

function formatEvent(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'step-end':
      return `${event.failed ? '✗' : '✓'} ${event.step} (${seconds(event.milliseconds)})`
    case 'run-chosen':
      return `${event.reused ? 'The commit has a sealed run already' : 'New run'}: ${event.run} in ${event.directory}`
    case 'sandbox-open':
      return `Sandbox ${event.id} is open (template ${event.template}).`
    case 'sandbox-gone':
      return `Sandbox ${event.id} is gone.`
    case 'drive9-identified':
      return `The sandbox has drive9 ${event.version} (sha256 ${event.sha256}).`
    case 'survey-done':
      return `${count(event.files)} files: ${count(event.read)} read, ${count(event.cut)} in part, ${count(event.skipped)} skipped.`
    case 'model-estimate':
      return `The model will be asked ${count(event.calls)} times, about ${count(event.inputTokens)} tokens${event.cost === undefined ? '' : `, about $${event.cost.toFixed(2)}`}.`
    case 'model-call':
      return `Model (${event.purpose}): ${count(event.inputTokens)} tokens in, ${count(event.outputTokens)} out.`
    case 'answer-claimed':
      return `Answer ${event.id} is being made.`
    case 'answer-limit':
      return event.text
    case 'answer-reused':
      return `Answer ${event.id} was there already.`
    case 'excerpts-found':
      return `${count(event.count)} excerpts of ${count(event.files)} files were found.`
    case 'notice':
    case 'step-start':
    case 'token-issued':
    case 'model-text':
      return undefined
  }
}
