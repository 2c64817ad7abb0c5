// Describes an error in two sentences: what happened, and what to do.
import { isHandoffError } from '../handoff/index.js'
import { useInputNames } from './inputs.js'

interface Failure {
  message: string
  next?: string
  /** Set for an unexpected error: the details go to the log only. */
  details?: string
}

/** Shown when GitHub denies a permission: the workflow lines that are probably missing. */
const permissionAdvice =
  'Check the permissions of the job: contents: read to summarise; pull-requests: write, and issues: write or discussions: write for questions there, to answer and to comment.'

export function describeError(error: unknown): Failure {
  if (isHandoffError(error)) {
    const message = useInputNames(error.message)
    const next = error.code === 'forbidden' && error.next === undefined ? permissionAdvice : error.next
    return { message, ...(next === undefined ? {} : { next: useInputNames(next) }) }
  }
  return {
    message: 'Something went wrong inside handoff.',
    next: 'Please report it with the details that the log of this step shows.',
    details: error instanceof Error ? (error.stack ?? error.message) : String(error),
  }
}

export const formatFailure = ({ message, next }: Failure) => (next === undefined ? message : `${message} ${next}`)
