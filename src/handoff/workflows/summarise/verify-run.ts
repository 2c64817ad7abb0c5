// Takes what Sandbox A stored out of its reach, verifies it, and removes what it did not report.
import type { AppContext } from '../../context.js'
import { artifact, quote } from '../../domain/run.js'
import type { FileTable } from '../../domain/survey.js'
import { takeFromStage } from '../../store/run-access.js'
import { verifyStored } from '../../store/run-store.js'
import { verifyPlainForm } from '../../store/verify-plain-files.js'
import { readCommitFiles } from './build-artifacts.js'
import type { SandboxResult } from './survey-in-sandbox.js'
import type { SummariseRequest } from './types.js'

/** Called when the sandbox is gone. Files that it did not report are named in a notice. */
export async function verifyRun(
  { form, commit: { repository } }: SummariseRequest,
  context: AppContext,
  directory: string,
  found: SandboxResult,
  signal: AbortSignal,
): Promise<FileTable | undefined> {
  const { drive } = context.ports
  const paths = found.stored.map(({ path }) => path)
  const taken = form === 'plain' ? [...paths, artifact.tree(repository)] : paths
  const emptyStage = await takeFromStage(drive, directory, taken, signal)
  const [table, , left, extra] = await Promise.all([
    readCommitFiles(context, directory, signal),
    verifyStored(drive, directory, found.stored, signal),
    emptyStage(),
    form === 'plain' ? verifyPlainForm(drive, directory, repository, found.stored, signal) : [],
  ])
  const unexpected = [...left, ...extra]
  if (unexpected.length > 0) found.notices.unshift(unexpectedNotice(unexpected))
  return table
}

const shownNames = 3

function unexpectedNotice(paths: string[]): string {
  const names = paths.slice(0, shownNames).map(quote).join(', ')
  const more = paths.length > shownNames ? ` and ${paths.length - shownNames} more` : ''
  return `The sandbox wrote files that it did not report: ${names}${more}. They were removed.`
}
