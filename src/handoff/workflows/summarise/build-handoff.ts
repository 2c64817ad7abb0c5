// Builds the handoff record of a run.
import type { AppContext } from '../../context.js'
import type { Handoff } from '../../domain/handoff-record.js'
import { fullName, type RunId } from '../../domain/run.js'
import { sha256 } from '../../store/run-store.js'
import type { StepTimer } from '../../util/step-timer.js'
import type { SummaryArtifacts } from './build-artifacts.js'
import { artifactOf, type RunFile } from './diagram-file.js'
import type { PreviousRun } from './previous-run.js'
import type { SandboxResult } from './survey-in-sandbox.js'
import type { SummariseRequest } from './types.js'

export const formOf = ({ form }: SummariseRequest) => form ?? 'tar'

export const hashPatterns = ({ include = [], exclude = [] }: SummariseRequest) =>
  sha256(new TextEncoder().encode(JSON.stringify({ include, exclude })))

export function buildHandoff(
  request: SummariseRequest,
  context: AppContext,
  run: RunId,
  found: SandboxResult,
  summary: SummaryArtifacts,
  files: readonly RunFile[],
  previous: PreviousRun | undefined,
  timer: StepTimer,
  sealedAt: string,
): Handoff {
  const { commit } = request
  const { id } = commit.repository
  const { record } = summary
  return {
    version: 1,
    run,
    host: commit.repository.host,
    repository: fullName(commit.repository),
    ...(id === undefined ? {} : { repositoryId: id }),
    ...(commit.ref === undefined ? {} : { ref: commit.ref }),
    commit: commit.sha,
    ...(previous && record.reusedPercent > 0 ? { basedOn: previous.handoff.run } : {}),
    form: formOf(request),
    patterns: hashPatterns(request),
    artifacts: [...found.stored, ...files.map(artifactOf)],
    survey: found.survey.counts,
    secrets: found.survey.secrets.length,
    ...record,
    model: { name: context.ports.model.name, host: context.ports.model.host },
    durations: timer.durations(),
    sandbox: found.sandbox,
    ...(found.drive9 ? { drive9: found.drive9 } : {}),
    ...(request.requestedBy ? { requestedBy: request.requestedBy } : {}),
    notices: [...summary.notices, ...found.notices].slice(0, 30).map((text) => text.slice(0, 500)),
    sealedAt,
  }
}
