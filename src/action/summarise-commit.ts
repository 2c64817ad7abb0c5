// Summarises the commit of the event, and reports the sealed run: outputs, files, log and job summary.
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  encodeHandoff,
  knowledgeBundle,
  llmsText,
  type SummariseRequest,
  type SummariseResult,
  summarise,
} from '../handoff/index.js'
import { workflowRunUrl } from './event-context.js'
import { createCommit, createJobContext, type Job, type JobContext, linkPlace } from './job-context.js'
import { describeOtherSettings, summaryReport } from './job-summary.js'
import { mergeBase } from './merge-base.js'
import type { CommitRequest } from './route-event.js'

export async function summariseCommit(job: Job, wanted: CommitRequest): Promise<void> {
  job.runner.info(
    `Summarising ${job.context.repository} at ${wanted.sha}${wanted.pull ? `, the head of pull request ${wanted.pull}` : ''}.`,
  )
  const open = createJobContext(job)
  const base = await mergeBase(job, wanted)
  const request = { ...createRequest(job, wanted, open), base }
  await reportResult(job, await summarise(request, open.appContext, job.signal))
}

function createRequest(job: Job, wanted: CommitRequest, open: JobContext): SummariseRequest {
  const { context, options } = job
  return {
    commit: createCommit(job, wanted.sha, wanted.ref),
    // Jobs of one workflow run share its number and its try.
    attempt: `${context.runId}-${context.runAttempt}-${open.appContext.ports.uniqueId().slice(-8)}`,
    force: options.force,
    form: options.form,
    include: options.include,
    exclude: options.exclude,
    reuseFrom: wanted.reuseFrom,
    requestedBy: { workflowRun: workflowRunUrl(context), actor: context.actor },
    labels: { owner: job.owner },
    links: { serverUrl: context.serverUrl, permalinks: 'github' },
    cloneToken: open.cloneToken,
  }
}

async function reportResult(job: Job, result: SummariseResult): Promise<void> {
  const { runner, redact } = job
  const { handoff } = result
  const folder = join(job.context.temporary, `handoff-${result.run}`)
  await mkdir(folder, { recursive: true })
  const [summaryFile, handoffFile] = [join(folder, 'code-summary.md'), join(folder, 'handoff.json')]
  const summary = redact(result.summary)
  const sealed = encodeHandoff(handoff)
  await Promise.all([writeFile(summaryFile, summary), writeFile(handoffFile, sealed)])
  runner.setOutput('run', result.run)
  runner.setOutput('run-directory', result.directory)
  runner.setOutput('commit', handoff.commit)
  runner.setOutput('reused', String(result.reused))
  runner.setOutput('summary-file', summaryFile)
  runner.setOutput('handoff-file', handoffFile)
  // Another job sealed a run that is reused, and vouched for it or not.
  runner.setOutput('handoff-digest', result.reused ? '' : `sha256:${sha256(sealed)}`)
  const context = await writeContextFiles(job, result, folder)
  runner.setOutput('llms-file', context?.llms ?? '')
  runner.setOutput('okf-folder', context?.okf ?? '')
  runner.setOutput('model', handoff.model.name)
  runner.setOutput('tokens', String(handoff.usage.inputTokens + handoff.usage.outputTokens))
  runner.setOutput('cost', handoff.cost === undefined ? '' : handoff.cost.amount.toFixed(6))
  runner.setOutput('sandbox', handoff.sandbox.id)
  runner.printUntrusted(`Summary of ${handoff.commit}`, summary)
  for (const notice of handoff.notices) runner.remark(redact(notice))
  await runner.writeJobSummary(redact(summaryReport(result, job)))
  if (result.differences.length > 0) runner.notice(redact(describeOtherSettings(result)))
  runner.info(`${result.reused ? 'Reused' : 'Sealed'} run ${result.run}.`)
}

/** The same statements for agents; undefined for a run of an earlier version. Nothing of it is written into the repository. */
async function writeContextFiles(
  job: Job,
  { statements: record, handoff }: SummariseResult,
  folder: string,
): Promise<{ llms: string; okf: string } | undefined> {
  if (record === undefined) return undefined
  const target = { place: linkPlace(job), commit: record.commit }
  const files = { record, target, repository: handoff.repository, sealedAt: handoff.sealedAt }
  const [llms, okf] = [join(folder, 'llms.txt'), join(folder, 'okf')]
  await mkdir(join(okf, 'directories'), { recursive: true })
  const bundle = knowledgeBundle(files).map(({ path, text }) => writeFile(join(okf, path), job.redact(text)))
  await Promise.all([writeFile(llms, job.redact(llmsText(files))), ...bundle])
  return { llms, okf }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
