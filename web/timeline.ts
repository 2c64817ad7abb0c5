// The timeline of one question: its steps with their times, and the sandbox with its beginning and end.
import type { StatusEvent } from './api-types.js'
import { element } from './dom.js'
import { plainName, seconds } from './format.js'

const stepNames: Record<string, string> = {
  'look up': 'Look up the run',
  claim: 'Claim the question',
  'open directory': 'Open the run directory',
  'open sandbox': 'Start a sandbox',
  mount: 'Mount the run read-only',
  verify: 'Verify what is stored',
  find: 'Find the lines that matter',
  answer: 'Write the answer',
  check: 'Check every citation',
  'close sandbox': 'Destroy the sandbox',
  keep: 'Keep the answer',
  search: 'Look for the answer',
}

const nameOf = (step: string) => (Object.hasOwn(stepNames, step) ? stepNames[step]! : plainName(step))

/** A question that is answered at once needs no clock. */
const shownFromMs = 2_000

type RowKind = 'step' | 'sandbox'
type RowState = 'running' | 'done' | 'failed' | 'gone' | 'unknown'

export type Timeline = ReturnType<typeof createTimeline>

export function createTimeline() {
  const began = performance.now()
  const now = () => performance.now() - began
  const list = element('ol', { class: 'steps' })
  const headline = element('span', { class: 'headline' }, 'Asking')
  const clock = element('span', { class: 'clock', 'aria-hidden': 'true' })
  const summary = element('summary', {}, headline, clock)
  const fold = element('details', { class: 'timeline', 'data-running': true }, summary, list)
  const rows: Row[] = []
  let before = ''
  let ended: number | undefined

  const draw = () => {
    const total = Math.max(300, ended ?? now(), ...rows.map((row) => row.end ?? 0))
    for (const row of rows) row.draw(total, now())
    if (now() > shownFromMs) clock.textContent = ` ${Math.floor(now() / 1_000)} s`
  }
  const running = setInterval(draw, 200)
  const open = (kind: RowKind, name: string) => {
    const row = createRow(kind, name, now())
    rows.push(row)
    list.append(row.node)
    draw()
    return row
  }
  const setHeadline = (text: string) => {
    headline.textContent = before + text
    return text
  }
  const closeAll = (stateOf: (row: Row) => RowState) => {
    for (const row of rows) row.close(row.end ?? now(), stateOf(row))
  }
  const lastOpen = (kind: RowKind, name?: string) =>
    rows.findLast((row) => row.kind === kind && row.end === undefined && (!name || row.name === name))

  return {
    node: fold,
    /** Returns a sentence when screen readers should hear it. */
    handleStatus(event: StatusEvent): string | undefined {
      if (ended !== undefined) return undefined
      const spoken = applyStatus(event, { open, lastOpen, now, setHeadline })
      draw()
      return spoken
    },
    /** The connection is lost: the fate of a running sandbox is not known. */
    startSearch(text: string) {
      setHeadline(text)
      if (lastOpen('step', 'search')) return
      closeAll(() => 'unknown')
      open('step', 'search')
    },
    /** The words come again. Undefined when they were never lost. */
    endSearch(): string | undefined {
      const search = lastOpen('step', 'search')
      if (!search) return undefined
      search.close(now(), 'done')
      open('step', 'answer')
      setHeadline(nameOf('answer'))
      return 'The connection is back.'
    },
    /** The question is asked again; new rows follow the old ones. */
    restart(text: string) {
      closeAll(() => 'done')
      setHeadline(text)
      before = `${text}. `
    },
    /** A sandbox whose end was not reported stays unknown. */
    end(describe: (totalMs: number, sandboxMs: number | undefined) => string) {
      if (ended !== undefined) return
      ended = now()
      clearInterval(running)
      closeAll((row) => (row.kind === 'sandbox' ? 'unknown' : 'done'))
      draw()
      clock.remove()
      delete fold.dataset['running']
      headline.textContent = describe(ended, sandboxTime(rows))
      if (rows.length === 0) fold.replaceWith(element('p', { class: 'timeline' }, headline))
      fold.open = false
    },
  }
}

interface Rows {
  open(kind: RowKind, name: string): Row
  lastOpen(kind: RowKind, name?: string): Row | undefined
  now(): number
  setHeadline(text: string): string
}

function applyStatus(event: StatusEvent, { open, lastOpen, now, setHeadline }: Rows): string | undefined {
  switch (event.state) {
    case 'looking':
      setHeadline('Looking up the run')
      return undefined
    case 'waiting':
      return setHeadline(`Waiting for a free sandbox, number ${Number(event.position) || 1} in line`)
    case 'joined':
      return setHeadline('Another caller asked the same question; waiting for that answer')
    case 'step':
      open('step', String(event.step))
      setHeadline(nameOf(String(event.step)))
      return undefined
    case 'step-done': {
      const row = lastOpen('step', String(event.step))
      row?.finish(Number(event.milliseconds), now(), event.failed ? 'failed' : 'done')
      // A step that runs beside it may still be open.
      const open = lastOpen('step')
      if (open) setHeadline(nameOf(open.name))
      return undefined
    }
    case 'sandbox-open':
      open('sandbox', 'Sandbox').describe(`${plainName(event.id)}, template ${plainName(event.template)}`)
      return 'The sandbox is up.'
    case 'sandbox-gone':
      lastOpen('sandbox')?.close(now(), 'gone')
      return 'The sandbox is gone.'
    case 'found':
      lastOpen('step', 'find')?.describe(`${Number(event.count)} pieces of ${Number(event.files)} files`)
      return undefined
    default:
      return undefined
  }
}

type Row = ReturnType<typeof createRow>

function createRow(kind: RowKind, name: string, begin: number) {
  const bar = element('span', { class: 'span' })
  const time = element('span', { class: 'time' })
  const words = element('span', { class: 'name' }, kind === 'sandbox' ? name : nameOf(name))
  const track = element('span', { class: 'track', 'aria-hidden': 'true' }, bar)
  const node = element('li', { class: kind, 'data-state': 'running', 'data-start': begin }, words, track, time)
  return {
    kind,
    name,
    node,
    start: begin,
    end: undefined as number | undefined,
    describe: (text: string) => words.append(element('small', {}, text)),
    /** A step inside the sandbox is reported when it is over: it ended now and began so much earlier. */
    finish(milliseconds: number, end: number, state: RowState) {
      this.start = Math.max(0, Math.min(this.start, end - milliseconds))
      this.close(this.start + milliseconds, state)
      const earlier = node.previousElementSibling as HTMLElement | null
      if (earlier && this.start + 30 < Number(earlier.dataset['start'])) earlier.before(node)
      node.dataset['start'] = String(this.start)
    },
    close(end: number, state: RowState) {
      this.end = end
      if (node.dataset['state'] === 'running') node.dataset['state'] = state
    },
    draw(total: number, now: number) {
      const end = Math.max(this.end ?? now, this.start)
      bar.style.setProperty('--from', String(Math.min(1, this.start / total)))
      bar.style.setProperty('--length', String(Math.min(1, (end - this.start) / total)))
      time.textContent = `${timePrefix(kind, node.dataset['state'])}${seconds(end - this.start)}`
    },
  }
}

function timePrefix(kind: RowKind, state: string | undefined): string {
  if (state === 'running') return kind === 'sandbox' ? 'up ' : ''
  return state === 'gone' || state === 'failed' || state === 'unknown' ? `${state} after ` : ''
}

/** How long the sandboxes lived whose end was reported; undefined without one. */
function sandboxTime(rows: Row[]): number | undefined {
  const gone = rows.filter((row) => row.kind === 'sandbox' && row.node.dataset['state'] === 'gone')
  return gone.length === 0 ? undefined : gone.reduce((sum, row) => sum + row.end! - row.start, 0)
}
