import { medianTime } from '../servers/median-time.mjs'

/** Milliseconds of what every ratio of writes depends on: the way to the server and back, and a commit of one row. */
export async function measureSurroundings(near, far) {
  await near.query('CREATE TABLE IF NOT EXISTS public.commits (at timestamptz)')
  const select = (pool) => () => pool.query({ name: 'bench_nothing', text: 'SELECT 1' })
  const insert = () => near.query({ name: 'bench_commit', text: 'INSERT INTO public.commits VALUES (now())' })
  return {
    roundTrip: await medianTime(select(near)),
    farRoundTrip: await medianTime(select(far)),
    commit: await medianTime(insert),
  }
}
