import { describe, it } from 'vitest'
import { hasRedisServer } from '../support/redis-tier.ts'
import { describePostgresAway } from './postgres-away.ts'

if (hasRedisServer()) describePostgresAway('redis')
else describe('a PostgreSQL that has a bad moment', () => it.skip('with the queue on redis'))
