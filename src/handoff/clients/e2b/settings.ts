// The settings of the E2B client.

export interface SandboxSettings {
  apiKey: string
  /** Absent: our own template, or E2B's `base` as long as the account does not have ours. `base` is prepared at every start. */
  template?: string
  /** Of a self-hosted E2B. Addresses come from the SDK's own variables unless given here. */
  domain?: string
  apiUrl?: string
  sandboxUrl?: string
  /** The drive9 program, for our own template and for `base`; what drive9 publishes when absent. */
  binary?: ProgramSource
  /** How long one request may wait for its reply. */
  requestTimeoutMs?: number
  /** How often the lifetime of a sandbox is extended; every 30 seconds when absent. */
  renewEveryMs?: number
  /** Receives a sentence about what the account or the template lacks. */
  onNotice?: (text: string) => void
}

/** Where the program is published, and its pinned hash where there is one. */
export interface ProgramSource {
  url: string
  sha256?: string
}
