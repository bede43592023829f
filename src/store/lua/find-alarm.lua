-- Reads only.
-- Finds an alarm of a location by its id: the newest if several devices use the id.
-- KEYS[1] history   KEYS[2] the piece of alarm ids that has the id
-- ARGV[1] field of the id (alarm-records.ts)   ARGV[2] location   ARGV[3] bytes of the id, because the number of a lost
--         alarm may go to another one   ARGV[4] the device, '' for any
-- returns device, kind, group ('' for none) and sequence of the alarm, {} if none is found
--- include places
local found = {}
for sequence in string.gmatch(redis.call('HGET', KEYS[2], ARGV[1]) or '', '%d+') do
  local row = redis.call('XRANGE', KEYS[1], sequence .. '-0', sequence .. '-0')[1]
  local alarm = {}
  for at = 1, row and #row[2] or 0, 2 do alarm[row[2][at]] = row[2][at + 1] end
  local place = placeOf(alarm.c)
  if alarm.i == ARGV[3] and place and place.location.id == ARGV[2] then
    local device = place.device.id
    if ARGV[4] == '' or ARGV[4] == device then found = { device, alarm.k, groupOf(place), sequence } end
  end
end
return found
