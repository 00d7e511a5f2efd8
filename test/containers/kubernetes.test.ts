import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { ENVIRONMENT, PODS } from './kubernetes-file.ts'

const settings: Readonly<Record<string, { readonly secret?: boolean; readonly preset?: unknown }>> =
  SETTINGS

describe('the environment of the pods', () => {
  it('has settings of farewatch alone, and secrets only as files of the mounted secret', () => {
    for (const [name, value] of Object.entries(ENVIRONMENT)) {
      const setting = settings[name.replace(/_FILE$/, '')]
      expect(setting, name).toBeDefined()
      expect(name.endsWith('_FILE')).toBe(setting?.secret === true)
      if (setting?.secret === true) expect(value).toMatch(/^\/run\/secrets\/farewatch\/[a-z-]+$/)
    }
  })

  it('has all that a service needs besides defaults', () => {
    expect(Object.keys(ENVIRONMENT)).toEqual(
      expect.arrayContaining([
        'DATABASE_URL_FILE',
        'UPSTREAM_BASE_URL',
        'UPSTREAM_ACCESS_TOKEN_FILE',
        'ENCRYPTION_KEY_FILE',
      ]),
    )
  })
})

const program = await createProgram()

describe.for(PODS)('the pod of %s', ([, pod]) => {
  const [container] = pod.containers

  it('runs a command that exists, as an ordinary user on a read-only file system', () => {
    const command = program.commands.find((one) => one.name() === container.args[0])
    const options = container.args.filter((arg) => arg.startsWith('--'))

    expect(command?.options.map(({ long }) => long)).toEqual(expect.arrayContaining(options))
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
      '/run/secrets/farewatch',
      '/tmp',
    ])
  })

  it('has no variables of service links, no token of the cluster, and time to stop', () => {
    expect(pod).toMatchObject({ enableServiceLinks: false, automountServiceAccountToken: false })
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(15)
    expect(container.resources.limits.memory).toMatch(/^\d+[GM]i$/)
  })
})
