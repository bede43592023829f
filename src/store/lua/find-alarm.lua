-- Reads only.
-- Finds the device that raised an alarm in a location: that of the newest alarm if several devices use the id.
-- KEYS[1] history   KEYS[2] the piece of alarm ids that has the id
-- ARGV[1] field of the id (alarm-records.ts)   ARGV[2] location
-- ARGV[3] bytes of the id, as a number whose alarm was lost may be given to another one
-- returns the device, '' when there is no such alarm
local found = ''
for sequence in string.gmatch(redis.call('HGET', KEYS[2], ARGV[1]) or '', '%d+') do
  local row = redis.call('XRANGE', KEYS[1], sequence .. '-0', sequence .. '-0')[1]
  local alarm = {}
  for at = 1, row and #row[2] or 0, 2 do alarm[row[2][at]] = row[2][at + 1] end
  local isReadable, place = pcall(cjson.decode, alarm.c)
  if alarm.i == ARGV[3] and isReadable and place.location.id == ARGV[2] then found = place.device.id end
end
return found
