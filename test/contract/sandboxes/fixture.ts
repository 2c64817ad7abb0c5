// What the contract suite of sandboxes shares.
import type { Sandbox, SandboxOpts } from 'e2b'
import { expect } from 'vitest'

export interface SandboxService {
  /** The options that every call of the SDK is given. */
  connection: { apiKey: string; domain?: string; apiUrl?: string; sandboxUrl?: string }
  template: string
  stop: () => Promise<void>
}

/** A service with a sandbox that the tests share. */
export interface SandboxFixture extends SandboxService {
  /** It runs during all tests that do not end it. */
  shared: Sandbox
  open: (options?: SandboxOpts) => Promise<Sandbox>
}

/** Returns the error that the SDK rejects with. Checks only the parts that callers may rely on. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { statusCode?: number }> {
  const error: unknown = await promise.then(
    (value) => expect.unreachable(`resolved with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(Error)
  return error as Error
}
