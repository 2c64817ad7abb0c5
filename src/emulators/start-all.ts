// The three clouds on one machine, wired to each other: sandboxes whose PATH has the local `drive9` program, a drive, a model. For the demo,
// the development server and the tests. Which of them are wanted is always said, never guessed from what is absent.
import { fileURLToPath } from 'node:url'
import { type DriveOptions, type LocalDrive, startDrive } from './drive9/server/main.js'
import { type SandboxCloud, type SandboxCloudOptions, startSandboxCloud } from './e2b/server.js'
import { type LocalModel, type ModelOptions, startModel } from './model/server.js'

export interface CloudsOptions {
  sandboxes?: SandboxCloudOptions | false
  drive?: DriveOptions | false
  model?: ModelOptions | false
}

export interface Clouds extends AsyncDisposable {
  sandboxes?: SandboxCloud
  drive?: LocalDrive
  model?: LocalModel
  /** What a program needs in its environment to use the clouds that were started. */
  settings: Record<string, string>
  close(): Promise<void>
}

/** The folder with the local `drive9` program, for the PATH of sandboxes. */
export const programFolder = fileURLToPath(new URL('bin', import.meta.url))

const imported = (path: string) => `--import ${new URL(path, import.meta.url).href}`

/** For the environment of sandboxes whose Node programs get the error numbers of a real mount, and not those of a plain directory. */
export const kernelOptions = {
  NODE_OPTIONS: `${imported('../build/ts-loader.mjs')} ${imported('drive9/cli/kernel.ts')}`,
}

export async function startClouds(options: CloudsOptions = {}): Promise<Clouds> {
  const opened: { close(): Promise<void> }[] = []
  const keep = async <T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const cloud = await starting
    opened.push(cloud)
    return cloud
  }
  const close = async () => {
    await Promise.all(opened.map((cloud) => cloud.close()))
  }
  try {
    const [sandboxes, drive, model] = await Promise.all([
      options.sandboxes === false
        ? undefined
        : keep(startSandboxCloud({ programs: [programFolder], ...options.sandboxes })),
      options.drive === false ? undefined : keep(startDrive(options.drive)),
      options.model === false ? undefined : keep(startModel(options.model)),
    ])
    return {
      ...(sandboxes ? { sandboxes } : {}),
      ...(drive ? { drive } : {}),
      ...(model ? { model } : {}),
      settings: {
        ...sandboxes?.settings,
        ...(drive ? { DRIVE9_API_KEY: drive.ownerKey, DRIVE9_SERVER: drive.url } : {}),
        ...model?.settings,
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
