// The process that touches a mount for a test: it asks, and the mount's server, which lives in the test's process, stays free to answer.
import files from 'node:fs/promises'

process.on('message', async ({ id, operation, words }) => {
  try {
    const value = await files[operation](...words)
    process.send({ id, value: operation === 'stat' ? { mode: value.mode } : value })
  } catch (error) {
    process.send({ id, error: { message: error.message, code: error.code } })
  }
})
