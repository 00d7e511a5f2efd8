import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { findPostmaster } from '../../src/embedded/server-process.ts'
import {
  acquire,
  isRoot,
  serverProcesses,
  startUser,
  temporaryFolder,
  temporaryHome,
} from './postgres-home.ts'

const UNPRIVILEGED = 65_534
const NO_SUCH_USER = 54_321

describe.runIf(isRoot)('as root', () => {
  it('the data lies where an unprivileged user can read it, whatever the mode of the home', async () => {
    const folder = await temporaryFolder()
    await chmod(folder, 0o700)
    const home = await temporaryHome(folder)

    const server = await acquire(home)

    const { directory, user, data } = await findPlace(home)
    const pointer = JSON.parse(await readFile(join(home, 'postgres-place.json'), 'utf8'))
    expect(pointer).toEqual({ directory })
    const postmaster = await findPostmaster(data)
    expect((await stat(`/proc/${postmaster?.pid}`)).uid).toBe(user?.uid)
    await server.release()
  })

  // Fault: `npm start` runs as root.
  it('a system user of its own runs the server, and data of another user stays with that user', async () => {
    const home = await temporaryHome()
    const own = (await findPlace(home)).user
    const { data } = await findPlace(home)

    await mkdir(data)
    await chown(data, UNPRIVILEGED, UNPRIVILEGED)

    expect(own?.name).toBe('farewatch-postgres')
    expect((await findPlace(home)).user?.uid).toBe(UNPRIVILEGED)
  })

  // Fault: Root runs farewatch in a container, where it may not trace processes.
  it('in a container, where root may not trace processes, a command joins, and the next start stops the server of a killed owner', async () => {
    const home = await temporaryHome()
    const without = 'sys_ptrace'
    const owner = startUser(home, { without })
    const { url } = await owner.nextLine()

    const command = startUser(home, { without, mode: 'join' })
    expect(await command.nextLine()).toMatchObject({ url })
    await command.release()
    await owner.kill()
    const next = startUser(home, { without })
    expect(await next.nextLine()).toMatchObject({ url: expect.any(String) as string })
    await next.release()

    expect(await serverProcesses(home)).toEqual([])
  })

  it('the data of an ordinary user is refused', async () => {
    const home = join(await temporaryFolder(), 'home')
    await mkdir(join(home, 'postgres'), { recursive: true })

    await expect(acquire(home)).rejects.toMatchObject({ code: 'embedded.other_user' })
  })
})

// Another user cannot read a project below a folder of mode 0700. Then the process prints nothing and the tests are skipped.
describe.runIf(isRoot)('as an ordinary user', () => {
  it('a user without a system entry gets an error that says so', async ({ skip }) => {
    const folder = await temporaryFolder()
    await chown(folder, NO_SUCH_USER, NO_SUCH_USER)
    const identity = { uid: NO_SUCH_USER, gid: NO_SUCH_USER }

    const answer = await startUser(join(folder, 'home'), identity).nextLine()

    skip(answer.code === undefined, 'the project is not readable')
    expect(answer).toMatchObject({ code: 'embedded.no_user_entry' })
  })
})
