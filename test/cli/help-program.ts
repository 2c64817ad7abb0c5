// Runs commands with `--help` one after another in one process, and prints what each of them wrote. Modules that they share load once.
const files = process.argv.slice(2)
const printed: Record<string, { code: typeof process.exitCode; stdout: string; stderr: string }> = {}
const write = process.stdout.write.bind(process.stdout)

for (const file of files) {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (text: string | Uint8Array) => {
      said[name] += String(text)
      return true
    }
  }
  process.exitCode = undefined
  process.argv = [process.execPath, file, '--help', '--bogus']
  await import(`../../${file}`)
  printed[file] = { code: process.exitCode, ...said }
}
process.exitCode = 0
write(JSON.stringify(printed), () => process.exit())
