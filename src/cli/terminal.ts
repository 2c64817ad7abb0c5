// How a workflow looks on a terminal: one live line with the time that passes where there is a terminal, plain lines everywhere else.
import type { RunEvent, Step } from '../handoff/index.js'

export interface Terminal {
  line(text?: string): void
  heading(text: string): void
  event(event: RunEvent): void
  /** Ends the live line, if one is being shown. */
  settle(): void
}

interface TerminalOptions {
  out: { write(text: string): unknown; isTTY?: boolean; columns?: number }
  environment: Record<string, string | undefined>
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export function makeTerminal({ out, environment }: TerminalOptions): Terminal {
  const live = out.isTTY === true && !environment['CI'] && environment['TERM'] !== 'dumb'
  const colours = live && !environment['NO_COLOR']
  const paint = (code: number, text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)
  const running = new Map<Step, number>()
  let timer: NodeJS.Timeout | undefined
  let frame = 0
  let shown = false

  const clear = () => {
    if (shown) out.write('\r\u001b[2K')
    shown = false
  }
  const draw = () => {
    clear()
    const steps = [...running]
    if (steps.length === 0) return
    frame = (frame + 1) % frames.length
    const text = steps.map(([step, since]) => `${step} ${seconds(Date.now() - since)}`).join(' · ')
    out.write(`  ${paint(36, frames[frame]!)} ${text.slice(0, (out.columns ?? 80) - 5)}`)
    shown = true
  }
  const write = (text: string) => {
    clear()
    out.write(`${text}\n`)
    if (live && running.size > 0) draw()
  }
  const tick = () => {
    if (!live) return
    if (running.size > 0 && !timer) {
      timer = setInterval(draw, 80)
      timer.unref()
    } else if (running.size === 0 && timer) {
      clearInterval(timer)
      timer = undefined
      clear()
    }
  }

  return {
    line: (text = '') => write(text),
    heading: (text) => write(`\n${paint(1, text)}`),
    settle() {
      running.clear()
      tick()
    },
    event(event) {
      if (event.type === 'step-start') running.set(event.step, event.at)
      if (event.type === 'step-end') running.delete(event.step)
      const text = lineFor(event, paint)
      if (text !== undefined) write(text)
      tick()
    },
  }
}

/** Formats an event as a line. The command itself prints texts of the model and of the repository. */
function lineFor(event: RunEvent, paint: (code: number, text: string) => string): string | undefined {
  switch (event.type) {
    case 'step-end':
      return `  ${event.failed ? paint(31, '✗') : paint(32, '✓')} ${event.step.padEnd(16)} ${paint(2, seconds(event.milliseconds).padStart(8))}`
    case 'sandbox-open':
      return `  ${paint(36, '▲')} ${sandboxName(event.role)} ${event.id} is up (template ${event.template})`
    case 'sandbox-gone':
      return `  ${paint(36, '▼')} ${sandboxName(event.role)} ${event.id} is destroyed`
    case 'drive9-identified':
      return `    drive9 ${event.version} (sha256 ${event.sha256.slice(0, 12)}…)`
    case 'survey-done':
      return `    ${event.files} files: ${event.read} read whole, ${event.cut} in part, ${event.skipped} left out`
    case 'model-estimate':
      return `    about ${event.inputTokens.toLocaleString('en')} input tokens in ${plural(event.calls, 'call')}${event.cost === undefined ? '' : `, about $${event.cost.toFixed(4)}`}`
    case 'answer-limit':
      return `    ${event.text}`
    case 'excerpts-found':
      return `    ${plural(event.count, 'excerpt')} from ${plural(event.files, 'file')}`
    case 'notice':
      return `  ${paint(33, '!')} ${event.text}`
    case 'answer-reused':
      return '    answered before: taken from the answer store, no sandbox'
    default:
      return undefined
  }
}

const sandboxName = (role: 'summarise' | 'ask') => (role === 'summarise' ? 'Sandbox A' : 'Sandbox B')

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(milliseconds < 9_950 ? 2 : 1)} s`
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** Text of a repository or a model on a terminal: without the control characters that could move the cursor or change its title. */
export function harmless(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '�')
}
