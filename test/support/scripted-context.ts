// `connect` for quick contexts: the same clients, with other waits and a clock that jumps; or with those of production.

import type { Clouds } from '../../src/emulators/start-all.js'
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { makeSandboxes } from '../../src/handoff/clients/e2b/client.js'
import { makeGitHost } from '../../src/handoff/clients/git/ls-remote.js'
import { makeModel } from '../../src/handoff/clients/openai/client.js'
import { systemClock } from '../../src/handoff/clients/system-clock.js'
import type { AppContext } from '../../src/handoff/context.js'
import { guardModel } from '../../src/handoff/create-context.js'
import { uniqueId } from '../../src/handoff/create-read-context.js'
import type { RunEvent } from '../../src/handoff/domain/run-events.js'
import { makeRedactor } from '../../src/handoff/domain/secrets/redactor.js'
import { noBudgets } from '../../src/handoff/store/caller-budgets.js'
import { unlimitedAdmission } from '../../src/handoff/workflows/answer/admission.js'
import { manualClock } from './clock.js'
import type { CloudName } from './fault-proxy.js'
import { keysOf } from './secrets.js'

export interface Wiring {
  clouds: Required<Clouds>
  events: RunEvent[]
}

/** How long a process waits for a reply. Its pauses between tries are short. */
const hasty = (answerMs: number) => ({
  drive: { answerMs, silenceMs: answerMs, pauseMs: 1, tries: 3, settingUpMs: 5 * answerMs },
  requestTimeoutMs: answerMs + 100,
  textMs: answerMs,
})

export type Waits = 'short' | 'ample' | 'production'

/** `connect`, with its waits. */
export function connectThrough(
  { clouds, events }: Wiring,
  url: Record<CloudName, string>,
  program: AppContext['program'],
  waits: Waits,
  time: { offset: number },
): AppContext {
  const clock = manualClock({ start: Date.now(), jump: true })
  const short = waits === 'production' ? undefined : hasty(waits === 'short' ? 500 : 10_000)
  const drive = makeDrive({
    server: url.drive,
    key: clouds.drive.ownerKey,
    ...(short ? { times: short.drive, clock } : {}),
  })
  const emit = (event: RunEvent) => void events.push(event)
  return {
    ports: {
      sandboxes: makeSandboxes({
        apiKey: clouds.sandboxes.settings.E2B_API_KEY,
        template: 'handoff',
        apiUrl: url.sandboxes,
        sandboxUrl: url.sandboxes,
        onNotice: (text) => emit({ type: 'notice', text }),
        ...(short ? { requestTimeoutMs: short.requestTimeoutMs } : {}),
      }),
      // A sandbox outlives the process that opened it, so it has a way of its own.
      drive: { ...drive, server: url.inside },
      model: guardModel(
        makeModel({
          apiKey: clouds.model.key,
          baseUrl: `${url.model}/v1`,
          name: clouds.model.name,
          contextTokens: 128_000,
          ...(short ? { firstTextMs: short.textMs, betweenTextMs: short.textMs, clock } : {}),
        }),
        Object.values(keysOf(clouds)),
      ),
      git: makeGitHost(short ? { requestMs: short.textMs, clock } : {}),
      // Questions that end within seconds never renew a lease.
      clock: { now: () => Date.now() + time.offset, sleep: systemClock.sleep },
      uniqueId,
      emit,
    },
    admission: unlimitedAdmission,
    budgets: noBudgets,
    program,
    redact: makeRedactor(Object.values(keysOf(clouds))),
    root: '/handoff',
    limits: { inputTokens: 400_000, deadlineMs: 60_000 },
  }
}
