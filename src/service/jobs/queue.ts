// The job queue: Vercel Queues on Vercel, memory elsewhere. Both deliver a job at least once, and again after a failure.

export interface JobQueue {
  readonly name: 'vercel' | 'memory'
  /** Messages with the same key within a day are delivered once. */
  send(message: unknown, options: { key: string; delaySeconds: number }): Promise<void>
  /** Stops the jobs of this process. An outside queue delivers them again. */
  stop?(): Promise<void>
}
