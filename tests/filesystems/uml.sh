#!/bin/sh
# The first process of a User-Mode Linux whose root is the host's: shares a folder by NFS or SMB and mounts it twice, or
# has a disk of a kind that few hosts can mount, at two paths; runs the doctor, queues and an index over both. KIND, WORK, PYTHON, PYTHONPATH, TASKS, FORMS, LEASE and WATCH come from the kernel's command line.
# What the servers write is kept out of the host by tmpfs.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONPATH PYTHONDONTWRITEBYTECODE=1
exec >"$WORK/log" 2>&1
mount -t proc proc /proc
mount -t sysfs sys /sys
for folder in /run /var/lib/nfs /var/lib/samba /var/cache/samba /var/log/samba /dev/shm "$WORK/vol"; do
    [ -d "$folder" ] && mount -t tmpfs none "$folder"
done
mkdir -p "$WORK/vol/share" "$WORK/vol/one" "$WORK/vol/two" "$WORK/vol/lib" /run/samba /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery
touch /var/lib/nfs/rmtab /var/lib/nfs/etab
ln -s /usr/lib/uml/modules "$WORK/vol/lib/modules"
printf '#!/bin/sh\nexec /sbin/modprobe -d %s "$@"\n' "$WORK/vol" >"$WORK/vol/modprobe"
chmod +x "$WORK/vol/modprobe"
echo "$WORK/vol/modprobe" >/proc/sys/kernel/modprobe
load() { for one in "$@"; do "$WORK/vol/modprobe" "$one"; done; }
ip link set lo up || ifconfig lo up
disk() { # KIND POINT
    load loop "$1" crc32c_generic crc32_generic nls_cp437 nls_ascii
    truncate -s 160M "$WORK/vol/disk"
    "mkfs.$1" "$WORK/vol/disk" >/dev/null
    mount -t "$1" -o loop "$WORK/vol/disk" "$2"
}
share() { # a disk: an NFS server on tmpfs cannot tell changes of one moment apart
    disk ext4 "$WORK/vol/share"
    chmod 777 "$WORK/vol/share"
}

case "$KIND" in
vfat | f2fs)
    disk "$KIND" "$WORK/vol/one"
    mount --bind "$WORK/vol/one" "$WORK/vol/two"
    ;;
nfs)
    share
    load nfsd nfs nfsv4 veth
    ip netns add far # mounts of one host are one client, to which the server gives no notice of its own changes
    ip link add near type veth peer name far netns far
    ip address add 192.0.2.1/24 dev near && ip link set near up
    ip -n far address add 192.0.2.2/24 dev far && ip -n far link set far up
    mount -t nfsd nfsd /proc/fs/nfsd
    exportfs -o rw,no_root_squash,fsid=0,insecure,no_subtree_check "*:$WORK/vol/share"
    if [ -n "$LEASE" ]; then # so soon it gives the locks of a client that is cut off to others
        for time in lease grace; do echo "$LEASE" >/proc/fs/nfsd/nfsv4${time}time; done
    fi
    rpc.mountd -N 3
    rpc.nfsd -N 3 -V 4.2 -U 4 || rpc.nfsd -N 3 4
    hostname near
    mount -t nfs4 -o vers=4.2 192.0.2.1:/ "$WORK/vol/one"
    nsenter --net=/run/netns/far unshare --uts sh -c "hostname far; mount -t nfs4 -o vers=4.2 192.0.2.1:/ $WORK/vol/two"
    ;;
smb)
    share
    load ctr cbc ghash-generic seqiv cifs md4 arc4 ecb des_generic sha512 cmac aes ccm gcm hmac md5 nls_utf8
    mkdir -p "$WORK/vol/samba/private" "$WORK/vol/samba/rpc"
    cat >"$WORK/vol/smb.conf" <<CONF
[global]
map to guest = Bad User
guest account = root
server min protocol = SMB3
interfaces = 127.0.0.1
bind interfaces only = yes
load printers = no
log file = $WORK/vol/samba/log
private dir = $WORK/vol/samba/private
state directory = $WORK/vol/samba
cache directory = $WORK/vol/samba
lock directory = $WORK/vol/samba
pid directory = $WORK/vol/samba
ncalrpc dir = $WORK/vol/samba/rpc
[share]
path = $WORK/vol/share
guest ok = yes
read only = no
strict sync = yes
oplocks = no
force user = root
CONF
    smbd -D -s "$WORK/vol/smb.conf"
    sleep 3
    for name in one two; do mount -t cifs -o vers=3.1.1,guest,nosharesock,cache=none //127.0.0.1/share "$WORK/vol/$name"; done
    ;;
esac
grep "$WORK/vol" /proc/mounts
leave() {
    sync
    echo o >/proc/sysrq-trigger
    sleep 10
}
if ! grep -q "$WORK/vol/two" /proc/mounts; then
    cat "$WORK/vol/samba/log"
    leave
fi

cd "$WORK" || exit
(
    sleep "$WATCH" # it will be ended soon: where do processes hang?
    for one in /proc/[0-9]*; do
        grep -q '^State:.D' "$one/status" 2>/dev/null && tr '\0' ' ' <"$one/cmdline" && cat "$one/stack"
    done
) &
"$PYTHON" -m filesystems.in_uml "$KIND" "$WORK" "$TASKS" $(echo "$FORMS" | tr , ' ')
echo finished
leave
