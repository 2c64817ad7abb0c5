// `connect` for quick contexts: the same clients, with short waits and a clock that jumps. A patient context waits as production does.

import type { Clouds } from '../../src/emulators/start-all.js'
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { makeSandboxes } from '../../src/handoff/clients/e2b/client.js'
import { makeGitHost } from '../../src/handoff/clients/git/ls-remote.js'
import { makeModel } from '../../src/handoff/clients/openai/client.js'
import { systemClock } from '../../src/handoff/clients/system-clock.js'
import type { AppContext } from '../../src/handoff/context.js'
import { guardModel, uniqueId } from '../../src/handoff/create-context.js'
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

const hasty = {
  drive: { answerMs: 500, silenceMs: 500, pauseMs: 1, tries: 3, settingUpMs: 2_500 },
  requestTimeoutMs: 600,
  firstTextMs: 500,
  betweenTextMs: 500,
}

/** `connect`, with its waits. */
export function connectThrough(
  { clouds, events }: Wiring,
  url: Record<CloudName, string>,
  program: AppContext['program'],
  patient: boolean,
  time: { offset: number },
): AppContext {
  const clock = manualClock({ start: Date.now(), jump: true })
  const drive = makeDrive({
    server: url.drive,
    key: clouds.drive.ownerKey,
    ...(patient ? {} : { times: hasty.drive, clock }),
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
        ...(patient ? {} : { requestTimeoutMs: hasty.requestTimeoutMs }),
      }),
      // A sandbox outlives the process that opened it, so it has a way of its own.
      drive: { ...drive, server: url.inside },
      model: guardModel(
        makeModel({
          apiKey: clouds.model.key,
          baseUrl: `${url.model}/v1`,
          name: clouds.model.name,
          contextTokens: 128_000,
          ...(patient ? {} : { firstTextMs: hasty.firstTextMs, betweenTextMs: hasty.betweenTextMs, clock }),
        }),
        Object.values(keysOf(clouds)),
      ),
      git: makeGitHost(patient ? {} : { requestMs: 500, clock }),
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
