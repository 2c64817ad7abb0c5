// The life of one question, drawn as it happens: the steps with their times, and the machine that comes and goes.
import { element } from './dom.js'
import { plainName, seconds } from './format.js'

const stepNames = {
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

const nameOf = (step) => stepNames[step] ?? plainName(step)

export function makeTimeline(clock = () => performance.now()) {
  const began = clock()
  const now = () => clock() - began
  const list = element('ol', { class: 'steps' })
  const headline = element('span', { class: 'headline' }, 'Asking')
  const fold = element('details', { class: 'timeline', open: true }, element('summary', {}, headline), list)
  const rows = []
  let before = ''
  let ended

  const open = (kind, name) => {
    const row = makeRow(kind, name, now())
    rows.push(row)
    list.append(row.node)
    draw()
    return row
  }
  const draw = () => {
    const total = Math.max(300, ended ?? now(), ...rows.map((row) => row.end ?? 0))
    for (const row of rows) row.draw(total, now())
  }
  const running = setInterval(draw, 200)
  const entitle = (text) => {
    headline.textContent = before + text
    return text
  }
  const closeAll = (stateOf) => {
    for (const row of rows) row.close(row.end ?? now(), stateOf(row))
  }
  const lastOpen = (kind, name) =>
    rows.findLast((row) => row.kind === kind && row.end === undefined && (!name || row.name === name))

  return {
    node: fold,
    /** Takes one `status` event; returns a sentence when it is worth saying aloud. */
    status(event) {
      if (ended !== undefined) return undefined
      const say = tell(event, { open, lastOpen, now, entitle })
      draw()
      return say
    },
    /** Nothing is heard any more: what became of the machine is not known. */
    search(text) {
      closeAll(() => 'unknown')
      open('step', 'search')
      entitle(text)
    },
    /** The same question once more, below what there was. */
    again(text) {
      closeAll(() => 'done')
      entitle(text)
      before = `${text}. `
    },
    /** Nothing runs any more; `headlineText` sums it up. That a machine is gone is said only when it was heard. */
    end(headlineText) {
      if (ended !== undefined) return
      ended = now()
      clearInterval(running)
      closeAll((row) => (row.kind === 'sandbox' ? 'unknown' : 'done'))
      draw()
      headline.textContent = headlineText(ended, sandboxTime(rows))
      if (rows.length === 0) fold.replaceWith(element('p', { class: 'timeline' }, headline))
      fold.open = false
    },
  }
}

function tell(event, { open, lastOpen, now, entitle }) {
  switch (event.state) {
    case 'looking':
      entitle('Looking up the run')
      return undefined
    case 'waiting':
      return entitle(`Waiting for a free sandbox, number ${Number(event.position) || 1} in line`)
    case 'joined':
      return entitle('Somebody asked the same a moment ago; waiting for that answer')
    case 'step':
      open('step', String(event.step))
      entitle(nameOf(String(event.step)))
      return undefined
    case 'step-done': {
      const row = lastOpen('step', String(event.step))
      row?.took(Number(event.milliseconds), now(), event.failed ? 'failed' : 'done')
      // What goes on beside it is what is waited for now.
      const still = lastOpen('step')
      if (still) entitle(nameOf(still.name))
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

function makeRow(kind, name, start) {
  const bar = element('span', { class: 'span' })
  const time = element('span', { class: 'time' })
  const words = element('span', { class: 'name' }, kind === 'sandbox' ? name : nameOf(name))
  const node = element(
    'li',
    { class: kind, 'data-state': 'running', 'data-start': start },
    words,
    element('span', { class: 'track', 'aria-hidden': 'true' }, bar),
    time,
  )
  return {
    kind,
    name,
    node,
    start,
    end: undefined,
    describe: (text) => words.append(element('small', {}, text)),
    /** What happens inside the machine is told when it is over: it ended now, and began so much before. */
    took(milliseconds, end, state) {
      this.start = Math.max(0, Math.min(this.start, end - milliseconds))
      this.close(this.start + milliseconds, state)
      const earlier = node.previousElementSibling
      if (earlier && this.start + 30 < Number(earlier.dataset.start)) earlier.before(node)
      node.dataset.start = String(this.start)
    },
    close(end, state) {
      this.end = end
      if (node.dataset.state === 'running') node.dataset.state = state
    },
    draw(total, now) {
      const { start } = this
      const end = Math.max(this.end ?? now, start)
      bar.style.setProperty('--from', String(Math.min(1, start / total)))
      bar.style.setProperty('--length', String(Math.min(1, (end - start) / total)))
      const word =
        {
          running: kind === 'sandbox' ? 'up ' : '',
          gone: 'gone after ',
          failed: 'failed after ',
          unknown: 'unknown after ',
        }[node.dataset.state] ?? ''
      time.textContent = `${word}${seconds(end - start)}`
    },
  }
}

/** How long the machines lived whose end was heard of, if there was one. */
function sandboxTime(rows) {
  const machines = rows.filter((row) => row.kind === 'sandbox' && row.node.dataset.state === 'gone')
  return machines.length === 0 ? undefined : machines.reduce((sum, row) => sum + row.end - row.start, 0)
}
