// The process that touches a mount for a test: it asks, and the mount's server, which lives in the test's process, stays free to answer.
import files from 'node:fs/promises'

const operations = {
  ...files,
  async writeAndSync(name, content) {
    const file = await files.open(name, 'w')
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
  },
}

process.on('message', async ({ id, operation, words }) => {
  try {
    const value = await operations[operation](...words)
    process.send({ id, value: operation === 'stat' ? { mode: value.mode } : value })
  } catch (error) {
    process.send({ id, error: { message: error.message, code: error.code } })
  }
})
