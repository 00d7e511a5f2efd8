import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { postgresProcessesIn, stopServer } from '../../src/embedded/server-process.ts'
import { startFarewatch, startInTest } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { acquire, isRoot, temporaryHome } from './postgres-home.ts'

/** A home whose database lies on a small disk of its own. Undefined where the user may not mount one. */
async function smallHome(megabytes: number) {
  if (!isRoot) return undefined
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-small-'))
  const { directory, data } = await findPlace(home)
  const options = `size=${megabytes}m,mode=0711`
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory])
  onTestFinished(async () => {
    if (status === 0) spawnSync('umount', ['-l', directory])
    await rm(directory, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  })
  return status === 0 ? { home, directory, data } : undefined
}

const ANY_PORTS = { API_PORT: '0', ADMIN_PORT: '0' }

describe('an embedded PostgreSQL on a full disk', () => {
  it('is not started where too little is free, and the error says how much it needs', async ({
    skip,
  }) => {
    const small = (await smallHome(60)) ?? skip()
    const up = startFarewatch(['up'], { FAREWATCH_HOME: small.home, ...ANY_PORTS })

    expect(await up.ended).toBe(1)
    expect(up.stderr()).toMatch(/has \d+ MB free, and the embedded PostgreSQL needs 200 MB/)
    expect(await postgresProcessesIn(small.data)).toEqual([])
  })

  // Fault: The disk is full when the embedded PostgreSQL starts, or while it starts. The start ends with the space that is
  // needed, or with the last words of the server, and leaves no process.
  it('ends the start with its own last words if it fails meanwhile, and leaves no process', async ({
    skip,
  }) => {
    const small = (await smallHome(220)) ?? skip()
    const up = startInTest(['up'], { FAREWATCH_HOME: small.home, ...ANY_PORTS })
    await until('the database', () => up.stdout().includes('embedded postgres ready'))
    const { bavail, bsize } = await statfs(small.directory)
    // The next file of the WAL does not fit.
    await writeFile(path.join(small.directory, 'ballast'), Buffer.alloc(bavail * bsize, 'x')).catch(
      () => undefined,
    )

    expect(await up.ended).toBe(1)
    expect(up.stderr()).toMatch(/the disk is full, make room on it: /)
    expect(up.stderr()).toMatch(/No space left on device/)
    expect(await postgresProcessesIn(small.data)).toEqual([])
  })
})

describe('a server that does not stop', () => {
  it('is killed before the process has to end', async () => {
    const home = await temporaryHome()
    const { data } = await findPlace(home)
    await acquire(home)
    const pids = await postgresProcessesIn(data)
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    const began = performance.now()

    await stopServer(data, silentLog)

    expect(await postgresProcessesIn(data)).toEqual([])
    // A process ends 15 s after Ctrl-C.
    expect(performance.now() - began).toBeLessThan(15_000)
  })
})
