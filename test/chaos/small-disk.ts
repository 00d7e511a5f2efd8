import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

/** A small file system that a test can fill to the last byte, or enlarge. */
export interface SmallDisk {
  /** An empty folder on the file system. */
  readonly folder: string
  fill(): Promise<void>
  free(): Promise<void>
  resize(megabytes: number): void
  close(): Promise<void>
}

const BLOCKS = [1 << 20, 1 << 12]

/** Mounts a tmpfs. Returns undefined where the system has none or the user may not mount one. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  if (process.platform !== 'linux') return undefined
  const root = await mkdtemp(path.join(os.tmpdir(), 'farewatch-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', root])
  if (mounted.status !== 0) {
    await rm(root, { recursive: true })
    return undefined
  }
  const folder = path.join(root, 'folder')
  const ballast = path.join(root, 'ballast')
  await mkdir(folder)
  return {
    folder,
    fill: async () => {
      for (const size of BLOCKS) await writeUntilFull(ballast, Buffer.alloc(size, 'x'))
    },
    free: () => rm(ballast),
    resize: (to) => {
      const resized = spawnSync('mount', ['-o', `remount,size=${to}m`, root])
      if (resized.status !== 0) throw new Error(`${resized.stderr}`)
    },
    close: async () => {
      spawnSync('umount', [root])
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function writeUntilFull(file: string, block: Buffer): Promise<void> {
  const handle = await open(file, 'a')
  try {
    for (;;) await handle.writeFile(block)
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOSPC') throw err
  } finally {
    await handle.close()
  }
}
